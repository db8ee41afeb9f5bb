//! Which scenarios are run, and one of them with a real PostgreSQL.

use super::*;

#[test]
fn scenarios_by_name() {
    let names = |only: &[&str]| -> Result<Vec<&str>> {
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        Ok(wanted(&only)?.into_iter().map(|s| s.name).collect())
    };
    assert_eq!(names(&["BIG4", "S64"]).unwrap(), ["S64", "BIG4"]);
    assert_eq!(names(&[]).unwrap().len(), scenario::ALL.len());
    let error = names(&["S64", "S65"]).unwrap_err().to_string();
    assert!(error.starts_with("there is no scenario S65; there are S1 "), "{error}");
}
