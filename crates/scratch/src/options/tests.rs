use super::*;

#[test]
fn wished_settings_come_last_and_quoted() {
    let settings = vec![("application_name".to_owned(), "it's \\ mine".to_owned())];
    let options = Options { settings, auth: "md5", ..Options::default() };
    let file = options.settings_file(5432, Path::new("/tmp/x"));
    assert!(file.ends_with("\napplication_name = 'it\\'s \\\\ mine'\n"), "{file}");
    assert!(file.contains("\nport = '5432'\nunix_socket_directories = '/tmp/x'\n"), "{file}");
    assert!(file.contains("\npassword_encryption = 'md5'\n"), "{file}");
}

#[test]
fn special_rules_come_first() {
    let file = hba_file(&["local all guest reject".to_owned()], "trust");
    assert_eq!(
        file,
        "local all guest reject\n\
         local all all trust\nhost all all 127.0.0.1/32 trust\n\
         local replication all trust\nhost replication all 127.0.0.1/32 trust\n"
    );
}
