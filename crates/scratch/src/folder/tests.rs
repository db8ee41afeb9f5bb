use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use super::*;

#[test]
fn a_folder_is_private_short_and_goes_away() {
    let folder = Folder::new("test").unwrap();
    let path = folder.path().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(path.join(".s.PGSQL.65535").as_os_str().len() < 100);

    let mut touch = Command::new("touch");
    touch.arg(path.join("file"));
    crate::unprivileged(&mut touch);
    assert!(touch.status().unwrap().success());
    assert_ne!(fs::metadata(path.join("file")).unwrap().uid(), 0);

    drop(folder);
    assert!(!path.exists());
}
