use super::*;

#[test]
fn a_path_is_one_word_for_the_shell() {
    for (path, expected) in [
        ("/tmp/pgweir-pg-a1B2c3", "/tmp/pgweir-pg-a1B2c3"),
        ("/tmp/two words", "'/tmp/two words'"),
        ("/tmp/it's $HOME", "'/tmp/it'\\''s $HOME'"),
    ] {
        assert_eq!(word(Path::new(path)), expected);
    }
}
