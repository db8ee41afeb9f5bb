use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Answer, Question, Ticket, WorkerId};

use super::Helpers;
use crate::post::{Letter, Post};

const WORKER: WorkerId = WorkerId(0);

fn wait_for(post: &Post, count: usize) -> Vec<Letter> {
    let start = Instant::now();
    let mut all = Vec::new();
    while all.len() < count {
        assert!(start.elapsed() < Duration::from_secs(30), "{} of {count} letters came", all.len());
        let mut letters = Vec::new();
        post.mailbox(WORKER).take(&mut letters);
        all.append(&mut letters);
        std::thread::sleep(Duration::from_millis(1));
    }
    all
}

#[test]
fn every_question_is_answered_with_its_ticket() {
    let post = Arc::new(Post::new(1).unwrap());
    let helpers = Helpers::start(&post, 2).unwrap();
    for number in 0..20u32 {
        let question = Question::Derive {
            password: b"secret".to_vec(),
            salt: b"salt".to_vec(),
            iterations: number + 1,
        };
        helpers.ask(WORKER, Ticket(number.into()), question);
    }
    let mut answered = Vec::new();
    for letter in wait_for(&post, 20) {
        let Letter::Answer(Ticket(number), Answer::Keys(keys)) = letter else { panic!("no keys") };
        let expected = auth::derive(b"secret", b"salt", number as u32 + 1);
        assert!(keys == expected, "keys of ticket {number}");
        answered.push(number);
    }
    answered.sort_unstable();
    assert!(answered.into_iter().eq(0..20));
}
