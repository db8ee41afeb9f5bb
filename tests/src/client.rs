//! A client that says exactly what a test wants, and shows exactly what came back.
//!
//! ```text
//! we ──► open: a socket        start: StartupMessage       prove: SCRAM, if it is asked for
//! we ──► send: any bytes       reply, rest: messages       hang_up, reset: how to leave
//! ```
//!
//! It works the same against the pooler and against PostgreSQL, so that answers can be compared.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use auth::{ScramClient, derive, md5_hash, md5_response};
use wire::backend::Authentication;
use wire::{backend, tag, write};

use crate::reply::{Message, Refusal, Reply, tags};

/// Where something listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At this port of 127.0.0.1.
    Tcp(u16),
    /// At this Unix socket.
    Unix(PathBuf),
}

/// Who wants in.
#[derive(Debug, Clone)]
pub struct Login {
    password: String,
    version: u32,
    parameters: Vec<(String, String)>,
}

impl Login {
    /// A user and a database, without a password.
    pub fn new(user: &str, database: &str) -> Self {
        let parameters = [("user", user), ("database", database)];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            password: String::new(),
            version: wire::PROTOCOL_3_0,
            parameters: parameters.to_vec(),
        }
    }

    /// With this password.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        password.clone_into(&mut self.password);
        self
    }

    /// With one more startup parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.parameters.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With another version of the protocol.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    fn user(&self) -> &[u8] {
        self.parameters[0].1.as_bytes()
    }
}

/// How a connection ended from the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// In order: all that was sent has arrived.
    Closed,
    /// By a reset.
    Reset,
}

/// The longest that the other side may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection.
pub struct Client {
    place: Place,
    stream: Stream,
    received: Vec<u8>,
    /// Up to where `received` has been read.
    read: usize,
    status: u8,
    /// The process id and secret to cancel with.
    pub key: Option<(u32, Vec<u8>)>,
    /// The codes of all Authentication messages so far.
    pub asked: Vec<u32>,
    /// What the server has reported, by name.
    pub parameters: BTreeMap<String, String>,
}

impl Client {
    /// Opens a connection and says nothing yet.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn open(place: &Place) -> io::Result<Self> {
        let stream = match place {
            Place::Tcp(port) => Stream::Tcp(TcpStream::connect((Ipv4Addr::LOCALHOST, *port))?),
            Place::Unix(path) => Stream::Unix(UnixStream::connect(path)?),
        };
        stream.set_read_timeout(PATIENCE)?;
        let (place, parameters) = (place.clone(), BTreeMap::new());
        let (received, asked) = (Vec::new(), Vec::new());
        Ok(Self { place, stream, received, read: 0, status: b'I', key: None, asked, parameters })
    }

    /// Logs in.
    ///
    /// # Errors
    /// The FATAL that it is refused with.
    ///
    /// # Panics
    /// When the connection ends without one.
    pub fn login(place: &Place, login: &Login) -> Result<Self, Refusal> {
        let mut client = Self::open(place).unwrap_or_else(|error| panic!("{place:?}: {error}"));
        client.start(login);
        client.enter(login)?;
        Ok(client)
    }

    /// Sends the StartupMessage of a login.
    pub fn start(&mut self, login: &Login) {
        let parameters: Vec<(&[u8], &[u8])> = login
            .parameters
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect();
        self.send(|out| write::startup(out, login.version, &parameters));
    }

    /// Goes through a login up to its ReadyForQuery.
    ///
    /// # Errors
    /// The FATAL that it is refused with.
    ///
    /// # Panics
    /// When the connection ends without one.
    pub fn enter(&mut self, login: &Login) -> Result<(), Refusal> {
        let mut scram = ScramClient::new(nonce());
        loop {
            let message = self.next_message();
            match message.tag {
                tag::backend::AUTHENTICATION => self.prove(&message.body, login, &mut scram),
                tag::backend::BACKEND_KEY_DATA => {
                    let key = backend::backend_key(&message.body).expect("a cancel key");
                    self.key = Some((key.pid, key.secret.to_vec()));
                }
                tag::backend::ERROR_RESPONSE => return Err(Refusal::parse(&message.body)),
                tag::backend::READY_FOR_QUERY => return Ok(()),
                _ => {}
            }
        }
    }

    fn prove(&mut self, body: &[u8], login: &Login, scram: &mut ScramClient) {
        let password = login.password.as_bytes();
        match backend::authentication(body).expect("a known authentication request") {
            Authentication::Ok => {}
            Authentication::CleartextPassword => self.send(|out| write::password(out, password)),
            Authentication::Md5Password(salt) => {
                let proof = md5_response(&md5_hash(password, login.user()), salt);
                self.send(|out| write::password(out, &proof));
            }
            Authentication::Sasl(_) => {
                let first = scram.first();
                self.send(|out| write::sasl_initial_response(out, "SCRAM-SHA-256", &first));
            }
            Authentication::SaslContinue(first) => {
                let challenge = scram.challenge(first).expect("a SCRAM challenge");
                let keys = derive(password, &challenge.salt, challenge.iterations);
                let last = scram.last(&keys).expect("a SCRAM proof");
                self.send(|out| write::sasl_response(out, &last));
            }
            Authentication::SaslFinal(last) => scram.verify(last).expect("the server's proof"),
            Authentication::Other(code) => panic!("authentication {code}"),
        }
    }

    /// Sends messages.
    ///
    /// # Panics
    /// When the connection has ended.
    pub fn send(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut out = Vec::new();
        fill(&mut out);
        self.send_bytes(&out).unwrap_or_else(|error| panic!("sending: {error}"));
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// When the connection has ended.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Runs SQL by the simple protocol and returns the answer to one Query.
    pub fn query(&mut self, sql: &str) -> Reply {
        self.send(|out| write::query(out, sql.as_bytes()));
        self.reply()
    }

    /// Runs SQL that must go well and returns its first value.
    ///
    /// # Panics
    /// If it does not go well, or gives no row.
    pub fn value(&mut self, sql: &str) -> String {
        let reply = self.query(sql);
        assert_eq!(reply.codes(), "", "{sql}: {reply:?}");
        reply.value()
    }

    /// Runs SQL that must go well.
    ///
    /// # Panics
    /// If it does not go well.
    pub fn run(&mut self, sql: &str) -> Reply {
        let reply = self.query(sql);
        assert_eq!(reply.codes(), "", "{sql}: {reply:?}");
        reply
    }

    /// Waits for the messages up to and including the next ReadyForQuery.
    ///
    /// # Panics
    /// When the connection ends before.
    pub fn reply(&mut self) -> Reply {
        let mut messages = Vec::new();
        loop {
            let message = self.try_message().unwrap_or_else(|lost| {
                panic!("{lost:?} instead of the rest of an answer that began with {messages:?}")
            });
            let is_last = message.tag == tag::backend::READY_FOR_QUERY;
            messages.push(message);
            if is_last {
                return Reply { messages };
            }
        }
    }

    /// Waits for the next message.
    ///
    /// # Panics
    /// When the connection ends before.
    pub fn next_message(&mut self) -> Message {
        self.try_message().unwrap_or_else(|lost| panic!("{lost:?} instead of a message"))
    }

    /// Waits for as many messages as there are tags, which must be these.
    ///
    /// # Panics
    /// When others come.
    pub fn expect(&mut self, expected: &str) -> Vec<Message> {
        let messages: Vec<Message> = expected.chars().map(|_| self.next_message()).collect();
        assert_eq!(tags(&messages), expected, "{messages:?}");
        messages
    }

    /// Waits for the next message or the end.
    ///
    /// # Errors
    /// How the connection ended.
    ///
    /// # Panics
    /// When the other side is silent for too long, or speaks another protocol.
    pub fn try_message(&mut self) -> Result<Message, Lost> {
        loop {
            let rest = &self.received[self.read..];
            let head = wire::header(rest).expect("the header of a message");
            if let Some(head) = head.filter(|head| rest.len() >= head.total as usize) {
                let (tag, whole) = (head.tag, &rest[..head.total as usize]);
                let body = wire::frame::body(whole).to_vec();
                self.read += head.total as usize;
                self.note(tag, &body);
                return Ok(Message { tag, body });
            }
            self.receive()?;
        }
    }

    fn receive(&mut self) -> Result<(), Lost> {
        self.received.drain(..self.read);
        self.read = 0;
        let mut chunk = [0; 64 * 1024];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(Lost::Closed),
            Ok(n) => {
                self.received.extend_from_slice(&chunk[..n]);
                Ok(())
            }
            Err(error) => match error.kind() {
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Err(Lost::Reset),
                _ => panic!("nothing has come for {PATIENCE:?}: {error}"),
            },
        }
    }

    /// Tells whether the last ReadyForQuery spoke of a transaction block.
    pub fn is_in_block(&self) -> bool {
        self.status != b'I'
    }

    fn note(&mut self, tag: u8, body: &[u8]) {
        if tag == tag::backend::READY_FOR_QUERY {
            self.status = body[0];
        }
        if tag == tag::backend::AUTHENTICATION {
            let code = body.first_chunk().expect("a code");
            self.asked.push(u32::from_be_bytes(*code));
        }
        if tag == tag::backend::PARAMETER_STATUS {
            let (name, value) = backend::parameter_status(body).expect("a parameter");
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            self.parameters.insert(text(name), text(value));
        }
    }

    /// Waits for the end, and returns what came before and how it ended.
    pub fn rest(&mut self) -> (Vec<Message>, Lost) {
        let mut messages = Vec::new();
        loop {
            match self.try_message() {
                Ok(message) => messages.push(message),
                Err(lost) => return (messages, lost),
            }
        }
    }

    /// Waits for one FATAL and the end; nothing else may come.
    ///
    /// # Panics
    /// When something else comes, or the connection is reset.
    pub fn fatal(&mut self) -> Refusal {
        let (messages, lost) = self.rest();
        assert_eq!((tags(&messages).as_str(), lost), ("E", Lost::Closed), "{messages:?}");
        let refusal = Refusal::parse(&messages[0].body);
        assert_eq!(refusal.severity, "FATAL", "{refusal:?}");
        refusal
    }

    /// Reads exactly one byte, as the answer to SSLRequest.
    ///
    /// # Panics
    /// When the connection ends before.
    pub fn byte(&mut self) -> u8 {
        while self.received.len() == self.read {
            self.receive().unwrap_or_else(|lost| panic!("{lost:?} instead of one byte"));
        }
        self.read += 1;
        self.received[self.read - 1]
    }

    /// Asks that the running query be cancelled, and waits until the request has been dealt with.
    pub fn cancel(&self) {
        self.canceller()();
    }

    /// Returns a function that does what [`Client::cancel`] does, for another thread.
    ///
    /// # Panics
    /// When there is no cancel key, or nobody listens.
    pub fn canceller(&self) -> impl Fn() + Send + 'static + use<> {
        let (pid, secret) = self.key.clone().expect("a cancel key");
        let place = self.place.clone();
        move || {
            let mut other = Self::open(&place).expect("a connection for the cancel request");
            other.send(|out| write::cancel_request(out, pid, &secret));
            let (messages, _) = other.rest();
            assert!(messages.is_empty(), "an answer to a cancel request: {messages:?}");
        }
    }

    /// Leaves as the protocol wants it, and waits until the other side has closed.
    pub fn hang_up(mut self) {
        self.send(write::terminate);
        let (messages, _) = self.rest();
        assert!(messages.is_empty(), "an answer to Terminate: {messages:?}");
    }

    /// Leaves by a reset, as a process that is killed with unread data does.
    ///
    /// # Panics
    /// When the socket refuses.
    pub fn reset(self) {
        let now = Some(Duration::ZERO);
        rustix::net::sockopt::set_socket_linger(&self.stream, now).expect("a socket");
    }
}

/// Fresh bytes for one SCRAM exchange.
fn nonce() -> [u8; 18] {
    use std::hash::{BuildHasher, RandomState};
    std::array::from_fn(|i| RandomState::new().hash_one(i).to_le_bytes()[0])
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn set_read_timeout(&self, limit: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(limit))?;
                stream.set_write_timeout(Some(limit))
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(limit))?;
                stream.set_write_timeout(Some(limit))
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}
