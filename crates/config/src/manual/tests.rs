use super::*;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");

#[test]
fn the_page_in_docs_is_this_manual() {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, manual()).unwrap();
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    assert!(page == manual(), "docs/configuration.md is stale: UPDATE=1 cargo test -p config");
}

#[test]
fn every_setting_and_key_is_in_it() {
    let page = manual();
    for row in TABLE {
        assert!(page.contains(&format!("\n### {}\n", row.key)), "{}", row.key);
    }
    let keys = DATABASE_KEYS.iter().map(|key| key.name);
    let keys = keys.chain(USER_KEYS.iter().map(|key| key.name));
    for name in keys.chain(PEER_KEYS.iter().map(|key| key.name)) {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn no_line_of_prose_is_too_long() {
    for line in manual().lines().filter(|line| !line.starts_with('|')) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}
