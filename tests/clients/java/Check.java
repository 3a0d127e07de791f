import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.*;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

/** The JDBC driver: one line "ok ..." a check, and the first that fails ends the run. */
public class Check {
    private static final Instant MOMENT = Instant.parse("2024-02-29T23:59:59.123456Z");
    private static final UUID CODE = UUID.fromString("6f9619ff-8b86-d011-b42d-00c04fc964ff");

    private interface Body {
        void run() throws Exception;
    }

    private static void check(String name, Body body) throws Exception {
        body.run();
        System.out.println("ok " + name);
    }

    private static void equal(Object found, Object expected) {
        if (!Objects.equals(found, expected)) {
            throw new AssertionError(found + " is not " + expected);
        }
    }

    private static Connection connect(String options) throws SQLException {
        Map<String, String> env = System.getenv();
        String url = "jdbc:postgresql://" + env.get("PGHOST") + ":" + env.get("PGPORT") + "/" + env.get("PGDATABASE") + options;
        return DriverManager.getConnection(url, env.get("PGUSER"), env.get("PGPASSWORD"));
    }

    private static List<String> column(ResultSet rows, String name) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            found.add(rows.getString(name));
        }
        return found;
    }

    private static int count(Statement statement, String sql) throws SQLException {
        int found = 0;
        try (ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                found++;
            }
        }
        return found;
    }

    private static void fails(Statement statement, String sql, String state) throws SQLException {
        try {
            statement.execute(sql);
        } catch (SQLException error) {
            equal(error.getSQLState(), state);
            return;
        }
        throw new AssertionError("no error: " + sql);
    }

    public static void main(String[] arguments) throws Exception {
        Connection connection = connect("");
        Statement statement = connection.createStatement();
        check("connects with a password, and a table is made", () -> {
            equal(connection.isValid(10), true);
            statement.execute("CREATE TABLE parcels (depot text, id int, name text, price numeric(10, 2), weight float8, serial bigint,"
                + " sent boolean, label bytea, code uuid, posted timestamptz, day date, tags text[], PRIMARY KEY (depot, id))");
        });
        check("all types, there and back", () -> {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO parcels VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
                insert.setString(1, "north");
                insert.setInt(2, 1);
                insert.setString(3, "Zoë's");
                insert.setBigDecimal(4, new BigDecimal("12.50"));
                insert.setDouble(5, 2.25);
                insert.setLong(6, 1L << 40);
                insert.setBoolean(7, true);
                insert.setBytes(8, new byte[] {0, 92, -1});
                insert.setObject(9, CODE);
                insert.setTimestamp(10, Timestamp.from(MOMENT));
                insert.setObject(11, java.time.LocalDate.of(2024, 2, 29));
                insert.setArray(12, connection.createArrayOf("text", new String[] {"a", "b,c"}));
                equal(insert.executeUpdate(), 1);
            }
            try (ResultSet row = statement.executeQuery("SELECT * FROM parcels")) {
                equal(row.next(), true);
                equal(row.getString("name"), "Zoë's");
                equal(row.getBigDecimal("price"), new BigDecimal("12.50"));
                equal(row.getDouble("weight"), 2.25);
                equal(row.getLong("serial"), 1L << 40);
                equal(row.getBoolean("sent"), true);
                equal(Arrays.toString(row.getBytes("label")), "[0, 92, -1]");
                equal(row.getObject("code"), CODE);
                equal(row.getObject("posted", OffsetDateTime.class).toInstant(), MOMENT);
                equal(row.getDate("day").toString(), "2024-02-29");
                equal(Arrays.toString((Object[]) row.getArray("tags").getArray()), "[a, b,c]");
            }
        });
        check("a statement that the server prepares after some calls", () -> {
            try (PreparedStatement read = connection.prepareStatement("SELECT price, posted, code FROM parcels WHERE depot = ? AND id = ?")) {
                for (int turn = 0; turn < 8; turn++) {
                    read.setString(1, "north");
                    read.setInt(2, 1);
                    try (ResultSet row = read.executeQuery()) {
                        equal(row.next(), true);
                        equal(row.getBigDecimal(1), new BigDecimal("12.50"));
                        equal(row.getTimestamp(2).toInstant(), MOMENT);
                        equal(row.getObject(3), CODE);
                    }
                }
            }
        });
        check("a batch", () -> {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO parcels (depot, id) VALUES (?, ?)")) {
                for (int id = 0; id < 150; id++) {
                    insert.setString(1, "south");
                    insert.setInt(2, id);
                    insert.addBatch();
                }
                equal(insert.executeBatch().length, 150);
            }
            equal(count(statement, "SELECT 1 FROM parcels WHERE depot = 'south'"), 150);
        });
        check("a transaction, a savepoint, and what is rolled back", () -> {
            connection.setAutoCommit(false);
            statement.executeUpdate("UPDATE parcels SET name = 'kept' WHERE depot = 'north'");
            Savepoint before = connection.setSavepoint();
            equal(statement.executeUpdate("DELETE FROM parcels"), 151);
            connection.rollback(before);
            connection.commit();
            statement.executeUpdate("DELETE FROM parcels");
            connection.rollback();
            equal(count(statement, "SELECT 1 FROM parcels WHERE name = 'kept'"), 1);
            connection.commit();
        });
        check("rows fetched a few at a time", () -> {
            statement.setFetchSize(20);
            equal(count(statement, "SELECT * FROM parcels"), 151);
            connection.commit();
            connection.setAutoCommit(true);
            statement.setFetchSize(0);
        });
        check("COPY both ways", () -> {
            CopyManager copies = connection.unwrap(PGConnection.class).getCopyAPI();
            equal(copies.copyIn("COPY parcels (depot, id, weight) FROM STDIN (FORMAT csv)", new StringReader("west,1,0.5\nwest,2,\n")), 2L);
            StringWriter text = new StringWriter();
            copies.copyOut("COPY (SELECT id, weight FROM parcels WHERE depot = 'west' ORDER BY id) TO STDOUT", text);
            equal(text.toString(), "1\t0.5\n2\t\\N\n");
        });
        check("errors have SQLSTATEs", () -> {
            fails(statement, "SELECT * FROM nowhere", "42P01");
            fails(statement, "INSERT INTO parcels (depot, id) VALUES ('north', 1)", "23505");
            fails(statement, "SELECT 1/0", "22012");
        });
        check("a statement that takes too long", () -> {
            statement.setQueryTimeout(1);
            fails(statement, "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b", "57014");
            statement.setQueryTimeout(0);
        });
        check("the catalogue: tables, columns, keys, indexes, types", () -> {
            DatabaseMetaData catalogue = connection.getMetaData();
            equal(catalogue.getDatabaseProductName(), "PostgreSQL");
            equal(column(catalogue.getTables(null, "public", "parc%", new String[] {"TABLE"}), "TABLE_NAME"), List.of("parcels"));
            equal(column(catalogue.getColumns(null, "public", "parcels", "%"), "TYPE_NAME"),
                List.of("text", "int4", "text", "numeric", "float8", "int8", "bool", "bytea", "uuid", "timestamptz", "date", "_text"));
            equal(column(catalogue.getPrimaryKeys(null, "public", "parcels"), "COLUMN_NAME"), List.of("depot", "id"));
            equal(new TreeSet<>(column(catalogue.getIndexInfo(null, "public", "parcels", true, false), "INDEX_NAME")), new TreeSet<>(Set.of("parcels_pkey")));
            equal(column(catalogue.getTypeInfo(), "TYPE_NAME").contains("timestamptz"), true);
            equal(column(catalogue.getSchemas(), "TABLE_SCHEM").contains("public"), true);
        });
        check("what a result says of its columns", () -> {
            try (ResultSet rows = statement.executeQuery("SELECT depot, price, price * 2 AS double FROM parcels")) {
                ResultSetMetaData columns = rows.getMetaData();
                equal(columns.getScale(2), 2);
                equal(columns.getColumnTypeName(3), "numeric");
            }
        });
        check("TLS", () -> {
            try (Connection encrypted = connect("?sslmode=require"); Statement asked = encrypted.createStatement()) {
                ResultSet row = asked.executeQuery("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
                row.next();
                equal(row.getBoolean(1), true);
            }
        });
        connection.close();
    }
}
