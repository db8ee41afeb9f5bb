use super::{Account, find, switch};

const PASSWD: &str =
    "root:x:0:0:root:/root:/bin/bash\nnonsense\nbouncer:x:101:102:,,,:/home:/bin/sh\n";
const GROUP: &str =
    "root:x:0:\nssl-cert:x:115:postgres,bouncer\nnonsense\nx:x:7:nobouncer\nb:x:102:bouncer\n";

#[test]
fn users_are_found_with_their_groups() {
    let expected = Account { uid: 101, gid: 102, groups: vec![102, 115] };
    assert_eq!(find("bouncer", PASSWD, GROUP), Some(expected));
    assert_eq!(find("root", PASSWD, ""), Some(Account { uid: 0, gid: 0, groups: vec![0] }));
    for name in ["nobody", "", "nonsense", "bouncer:x"] {
        assert_eq!(find(name, PASSWD, GROUP), None, "{name:?}");
    }
}

#[test]
fn an_unknown_user_is_refused() {
    let error = switch("no such user").err().unwrap();
    assert_eq!(error, "could not find user \"no such user\" in /etc/passwd");
}
