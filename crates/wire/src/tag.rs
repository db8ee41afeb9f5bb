//! The first byte of a message, for both directions, and its name in the protocol documentation.
//!
//! The same byte means different things in the two directions (`D` is Describe from a client and
//! DataRow from a server), hence two modules and two lookups.
//!
//! Knows nothing of what the messages contain. Source: PostgreSQL's manual, "Message Formats".

macro_rules! tags {
    ($($constant:ident = $byte:literal, $name:literal;)*) => {
        $(
            #[doc = concat!("The tag of ", $name, ".")]
            pub const $constant: u8 = $byte;
        )*

        pub(super) fn name(tag: u8) -> Option<&'static str> {
            match tag {
                $($constant => Some($name),)*
                _ => None,
            }
        }
    };
}

/// Tags of the messages that a client sends.
pub mod frontend {
    tags! {
        BIND = b'B', "Bind";
        CLOSE = b'C', "Close";
        COPY_DATA = b'd', "CopyData";
        COPY_DONE = b'c', "CopyDone";
        COPY_FAIL = b'f', "CopyFail";
        DESCRIBE = b'D', "Describe";
        EXECUTE = b'E', "Execute";
        FLUSH = b'H', "Flush";
        FUNCTION_CALL = b'F', "FunctionCall";
        PARSE = b'P', "Parse";
        PASSWORD = b'p', "PasswordMessage";
        QUERY = b'Q', "Query";
        SYNC = b'S', "Sync";
        TERMINATE = b'X', "Terminate";
    }
}

/// Tags of the messages that a server sends.
pub mod backend {
    tags! {
        AUTHENTICATION = b'R', "Authentication";
        BACKEND_KEY_DATA = b'K', "BackendKeyData";
        BIND_COMPLETE = b'2', "BindComplete";
        CLOSE_COMPLETE = b'3', "CloseComplete";
        COMMAND_COMPLETE = b'C', "CommandComplete";
        COPY_BOTH_RESPONSE = b'W', "CopyBothResponse";
        COPY_DATA = b'd', "CopyData";
        COPY_DONE = b'c', "CopyDone";
        COPY_IN_RESPONSE = b'G', "CopyInResponse";
        COPY_OUT_RESPONSE = b'H', "CopyOutResponse";
        DATA_ROW = b'D', "DataRow";
        EMPTY_QUERY_RESPONSE = b'I', "EmptyQueryResponse";
        ERROR_RESPONSE = b'E', "ErrorResponse";
        FUNCTION_CALL_RESPONSE = b'V', "FunctionCallResponse";
        NEGOTIATE_PROTOCOL_VERSION = b'v', "NegotiateProtocolVersion";
        NOTICE_RESPONSE = b'N', "NoticeResponse";
        NOTIFICATION_RESPONSE = b'A', "NotificationResponse";
        NO_DATA = b'n', "NoData";
        PARAMETER_DESCRIPTION = b't', "ParameterDescription";
        PARAMETER_STATUS = b'S', "ParameterStatus";
        PARSE_COMPLETE = b'1', "ParseComplete";
        PORTAL_SUSPENDED = b's', "PortalSuspended";
        READY_FOR_QUERY = b'Z', "ReadyForQuery";
        ROW_DESCRIPTION = b'T', "RowDescription";
    }
}

/// Names a client's message, or says that the tag is none of theirs. `p` is PasswordMessage, though
/// SASLInitialResponse, SASLResponse and GSSResponse share it.
pub fn frontend_name(tag: u8) -> Option<&'static str> {
    frontend::name(tag)
}

/// Names a server's message, or says that the tag is none of theirs.
pub fn backend_name(tag: u8) -> Option<&'static str> {
    backend::name(tag)
}

#[cfg(test)]
mod tests;
