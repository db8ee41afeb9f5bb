use super::*;

/// A xorshift generator: the same seed gives the same texts.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// Up to 24 of the given bytes.
    pub(crate) fn text(&mut self, letters: &[u8]) -> Vec<u8> {
        let length = self.below(25);
        (0..length).map(|_| letters[self.below(letters.len() as u64) as usize]).collect()
    }
}

/// Loads one file.
#[track_caller]
pub(crate) fn config(text: &str) -> Config {
    load("t.ini", &mut |_| Ok(text.as_bytes().to_vec())).unwrap()
}

#[test]
fn the_template_is_no_database() {
    let config = config("[pgbouncer]\n[databases]\na = host=x\n* = host=y\n[users]\nu =\n");
    assert_eq!(config.find_database("a").unwrap().host.as_deref(), Some("x"));
    assert_eq!(config.find_database("b"), None);
    assert_eq!(config.find_database("*"), None);
    assert_eq!(config.template().unwrap().host.as_deref(), Some("y"));
    assert_eq!(config.user("u"), Some(&User::new("u")));
    assert_eq!(config.user("v"), None);
}

#[test]
fn show_has_one_row_for_each_setting() {
    let rows = config("[pgbouncer]\nverbose=2\nuser=pg\n").show();
    let row = |key: &str| {
        let row = rows.iter().find(|row| row.key == key).unwrap();
        (row.value.as_deref(), row.default.as_deref(), row.changeable)
    };
    assert_eq!(rows.len(), TABLE.len());
    assert_eq!(row("auth_file"), (None, None, true));
    assert_eq!(row("admin_users"), (Some(""), Some(""), true));
    assert_eq!(row("conffile"), (Some("t.ini"), None, true));
    assert_eq!(row("unix_socket_mode"), (Some("511"), Some("0777"), false));
    assert_eq!(row("user"), (Some("pg"), None, false));
    assert_eq!(row("verbose"), (Some("2"), None, true));
    assert_eq!(row("server_check_query"), (Some("<empty>"), Some("<empty>"), true));
    assert_eq!(row("worker_threads"), (Some("0"), Some("0"), false));
}

#[test]
fn a_complaint_prints_what_it_knows() {
    let complaint = |line, key: &str| Complaint {
        file: "a.ini".to_owned(),
        line,
        key: key.to_owned(),
        why: "no".to_owned(),
    };
    assert_eq!(complaint(3, "x").to_string(), "a.ini:3: x: no");
    assert_eq!(complaint(3, "").to_string(), "a.ini:3: no");
    assert_eq!(complaint(0, "").to_string(), "a.ini: no");
}

#[test]
fn debug_output_holds_no_password() {
    let config = config("[pgbouncer]\n[databases]\na = user=u password=geheim\n");
    assert_eq!(config.find_database("a").unwrap().password.as_ref().unwrap().0, "geheim");
    let printed = format!("{config:?} {config:#?}");
    assert!(printed.contains("password") && !printed.contains("geheim"));
}
