//! The configuration of a story: what stands in its lines, on top of a few settings that make
//! stories short.
//!
//! ```text
//! config pool_mode=session      a setting of [pgbouncer]
//! database app = host=db        an entry of [databases]
//! limit me pool_size=3          an entry of [users]
//! user me "secret"              a line of auth_file; `user me scram "secret"` for a SCRAM secret
//! ```
//!
//! Unless a story says otherwise there are the database `app` at host `db` and the users `me` and
//! `you`, trusted, with transaction pooling and one server.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::Setup;

use super::ear::verifier;
use super::words::words;

/// The configuration as it grows line by line.
pub(crate) struct Conf {
    settings: BTreeMap<String, String>,
    databases: BTreeMap<String, String>,
    limits: BTreeMap<String, String>,
    secrets: BTreeMap<String, String>,
}

impl Conf {
    pub(crate) fn new() -> Self {
        let settings =
            [("auth_type", "trust"), ("pool_mode", "transaction"), ("default_pool_size", "1")];
        let text = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            settings: settings.map(text).into(),
            databases: [("app", "host=db")].map(text).into(),
            limits: BTreeMap::new(),
            secrets: [("me", ""), ("you", "")].map(text).into(),
        }
    }

    /// Takes a line, if it is one of the configuration.
    pub(crate) fn take(&mut self, line: &str) -> bool {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "config" => {
                for setting in words(&rest.replace(',', "\\x2c")) {
                    let (name, value) = setting.pair();
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    self.settings.insert(text(name), text(value).replace("\\x2c", ","));
                }
            }
            "database" => match rest.split_once(" = ") {
                Some((name, entry)) => drop(self.databases.insert(name.into(), entry.into())),
                None => {
                    let name = rest.strip_suffix(" gone").expect("database NAME gone");
                    self.databases.remove(name).expect("it was there");
                }
            },
            "limit" => {
                let (name, entry) = rest.split_once(' ').expect("limit USER SETTING=VALUE");
                self.limits.insert(name.into(), entry.into());
            }
            "user" => {
                let (name, secret) = match &words(rest)[..] {
                    [name] => (name.clone(), String::new()),
                    [name, secret] => (name.clone(), secret.as_str().to_owned()),
                    [name, _, secret] => (name.clone(), verifier(&secret.text).to_string()),
                    _ => panic!("user NAME [scram] \"SECRET\""),
                };
                self.secrets.insert(name.as_str().into(), secret);
            }
            _ => return false,
        }
        true
    }

    /// The configuration as one value.
    pub(crate) fn setup(&self) -> Arc<Setup> {
        let mut ini = String::from("[pgbouncer]\n");
        let section = |entries: &BTreeMap<String, String>| -> String {
            entries.iter().map(|(name, value)| format!("{name} = {value}\n")).collect()
        };
        ini += &section(&self.settings);
        ini +=
            &format!("[databases]\n{}[users]\n{}", section(&self.databases), section(&self.limits));
        let mut read = |_: &str| Ok(ini.clone().into_bytes());
        let config = config::load("story.ini", &mut read).unwrap_or_else(|wrong| {
            panic!("the configuration is wrong: {wrong:?}\n{ini}");
        });
        let line = |(name, secret): (&String, &String)| {
            format!("\"{name}\" \"{}\"\n", secret.replace('"', "\"\""))
        };
        let list: String = self.secrets.iter().map(line).collect();
        let (userlist, complaints) = auth::Userlist::parse(list.as_bytes());
        assert!(complaints.is_empty(), "{complaints:?}");
        let (userlist, version) = (Arc::new(userlist), Arc::from("PgBouncer 1.25.0"));
        Arc::new(Setup { config, userlist, version, host: "pool.example".into(), uid: 1000 })
    }
}
