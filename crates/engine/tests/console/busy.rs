//! A process in which something is in every state that SHOW tells of.

use wire::write;

use crate::seat::{bytes, messages, query, startup, tcp, unix};
use crate::world::{Plug, SECOND, World};

pub(crate) const INI: &str = "[databases]\n\
    app = host=10.0.0.2 port=5433 dbname=real pool_mode=transaction server_lifetime=100\n\
    other = host=10.0.0.2 user=forced pool_size=7\n\
    local =\n\
    * = host=10.0.0.3\n\
    [users]\n\
    carol = pool_size=30 pool_mode=transaction\n\
    [pgbouncer]\n\
    auth_type = trust\n\
    default_pool_size = 5\n\
    listen_port = 6433\n\
    server_check_delay = 5\n\
    server_check_query = hang\n\
    server_reset_query =\n\
    stats_period = 10\n\
    stats_users = bob\n";
pub(crate) const USERS: &str = "\"bob\" \"\"\n\"carol\" \"\"\n\"dave\" \"\"\n";

/// A client with its cancel key.
fn keyed(world: &mut World, user: &str, name: &str) -> (Plug, Vec<u8>) {
    let plug = world.accept(0, tcp(5000));
    world.say(plug, &startup(user, "app", &[(b"application_name", name.as_bytes())]));
    let heard = messages(&world.hear(plug));
    let (_, key) = heard.iter().find(|(tag, _)| *tag == b'K').expect("it is welcome");
    (plug, key.clone())
}

/// A process in which something is in every state that there is.
pub(crate) struct Busy {
    pub(crate) world: World,
    /// On the console.
    pub(crate) owner: Plug,
    /// A client whose query hangs.
    pub(crate) hanging: Plug,
}

pub(crate) fn busy() -> Busy {
    let mut world = World::new(1, INI, USERS);
    // Clients whose query hangs, each with a server.
    let hanging: Vec<_> = (0..25).map(|_| keyed(&mut world, "carol", "batch")).collect();
    for (client, _) in &hanging {
        world.say(*client, &query("hang"));
    }
    // Servers that have been idle for long, and one that has not.
    let others: Vec<_> =
        (0..5).map(|at| world.client(0, if at < 3 { "carol" } else { "dave" }, "app")).collect();
    for client in &others {
        world.ask(*client, "begin");
    }
    for client in &others[..4] {
        world.ask(*client, "commit");
    }
    world.wait(6 * SECOND);
    world.ask(others[4], "commit");
    // A database whose first server is not there yet.
    world.holds_connects = true;
    world.enter(0, unix(17), "carol", "auto");
    // One that waits, for which an idle server is tested.
    let waiting = world.client(0, "carol", "app");
    world.say(waiting, &query("hang"));
    // Cancel requests for all that hang; one of the queries is done before its request gets there.
    for (_, key) in &hanging {
        let requester = world.accept(0, tcp(5002));
        let pid = u32::from_be_bytes(key[..4].try_into().unwrap());
        world.say(requester, &bytes(|out| write::cancel_request(out, pid, &key[4..])));
    }
    let server = world.servers()[0];
    world.answer(server);
    // Somebody who has not said who it is.
    world.accept(0, tcp(5003));
    let owner = world.owner(0);
    world.wait(1_500_000);
    Busy { world, owner, hanging: hanging[1].0 }
}
