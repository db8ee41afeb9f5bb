import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;

/** The console as pgjdbc uses it: URL. */
public class Console {
    static final String[] TABLES = {
        "clients", "config", "databases", "lists", "mem", "pools", "servers", "sockets", "state",
        "stats", "totals", "users", "version",
    };

    static int rows(ResultSet result) throws SQLException {
        ResultSetMetaData columns = result.getMetaData();
        int rows = 0;
        for (; result.next(); rows++) {
            for (int at = 1; at <= columns.getColumnCount(); at++) {
                switch (columns.getColumnTypeName(at)) {
                    case "int4" -> result.getInt(at);
                    case "numeric" -> result.getBigDecimal(at);
                    default -> result.getString(at);
                }
            }
        }
        return rows;
    }

    static void expect(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static void use(Connection connection, boolean simple) throws SQLException {
        expect(connection.isValid(2), "it is valid");
        // After five times a statement stays prepared, and results are binary.
        for (int times = 0; times < 7; times++) {
            for (String table : TABLES) {
                try (PreparedStatement show = connection.prepareStatement("SHOW " + table)) {
                    rows(show.executeQuery());
                }
            }
        }
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(10);
            expect(rows(statement.executeQuery("SHOW config")) > 70, "rows in pieces");
            expect(rows(statement.executeQuery("SELECT 1")) == 1, "one row");
        }
        connection.commit();
        expect(connection.getTransactionIsolation() == Connection.TRANSACTION_READ_COMMITTED, "level");
        connection.rollback();
        connection.setAutoCommit(true);
        try (PreparedStatement show = connection.prepareStatement("SHOW ?")) {
            show.setString(1, "pools");
            show.executeQuery();
            throw new AssertionError("no error");
        } catch (SQLException error) {
            expect(error.getSQLState().equals(simple ? "08P01" : "42601"), error.toString());
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute("RELOAD");
        }
        expect(connection.isValid(2), "it is valid after an error");
    }

    public static void main(String[] arguments) throws SQLException {
        String[] modes = {
            "", "&preferQueryMode=simple", "&prepareThreshold=1&autosave=always",
            "&targetServerType=primary&options=-c%20statement_timeout=1s",
        };
        for (String mode : modes) {
            try (Connection connection = DriverManager.getConnection(arguments[0] + mode)) {
                use(connection, mode.contains("simple"));
            }
        }
    }
}
