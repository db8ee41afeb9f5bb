use std::cell::Cell;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_tree_is_copied_with_modes_and_empty_folders() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    fs::create_dir_all(from.join("base/empty")).unwrap();
    fs::write(from.join("base/1"), "one").unwrap();
    fs::set_permissions(from.join("base/1"), fs::Permissions::from_mode(0o600)).unwrap();

    let seen = Cell::new(0);
    let count = |_: &Path| {
        seen.set(seen.get() + 1);
        Ok(())
    };
    copy_tree(&from, &to, &count).unwrap();

    assert_eq!(fs::read_to_string(to.join("base/1")).unwrap(), "one");
    assert_eq!(mode(&to.join("base/1")), 0o600);
    assert_eq!(mode(&to.join("base/empty")), 0o700);
    assert_eq!(seen.get(), 4, "two folders below, one file and the folder itself");
}

#[test]
fn a_template_is_kept_once_and_leaves_nothing_unfinished() {
    let dir = tempfile::tempdir().unwrap();
    let (data, template) = (dir.path().join("data"), dir.path().join("template/15"));
    fs::create_dir(&data).unwrap();
    fs::write(data.join("PG_VERSION"), "15").unwrap();

    keep(&data, &template).unwrap();
    assert!(keep(&data, &template).is_err(), "another process was first");
    let kept: Vec<_> = fs::read_dir(dir.path().join("template")).unwrap().collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read_to_string(template.join("PG_VERSION")).unwrap(), "15");
}
