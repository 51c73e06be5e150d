package lab;

import jakarta.annotation.Resource;
import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.sql.DataSource;

/** The comments as a servlet: connections come from Tomcat's pool, and the page goes to the server in one piece. */
@WebServlet("/comments")
public class Comments extends HttpServlet {
    private static final int LONGEST = 65536;
    private static final Pattern ROWS = Pattern.compile("(?:^|&)rows=([0-9]{1,9})(?:&|$)");
    public static final String HEAD =
        """
        <!DOCTYPE html>
        <html lang="en">
        <head><meta charset="utf-8"><title>Comments</title></head>
        <body>
        <h1>Comments</h1>
        <table>
        <tr><th>Name</th><th>Email</th><th>Comments</th></tr>
        """;
    public static final String FOOT =
        """
        </table>
        <form method="post">
        <p><label>Name <input name="name" required></label></p>
        <p><label>Email <input name="email" type="email"></label></p>
        <p><label>Comments <textarea name="comments" required></textarea></label></p>
        <p><button>Send</button></p>
        </form>
        </body>
        </html>
        """;

    @Resource(name = "jdbc/comments")
    private DataSource database;

    /** As many rows as the query asks for. */
    public static int rows(String query) {
        Matcher asked = ROWS.matcher(query == null ? "" : query);
        return asked.find() ? Integer.parseInt(asked.group(1)) : 999_999_999;
    }

    public static void escape(StringBuilder page, String text) {
        for (int at = 0; at < text.length(); at++) {
            char c = text.charAt(at);
            switch (c) {
                case '&' -> page.append("&amp;");
                case '<' -> page.append("&lt;");
                case '>' -> page.append("&gt;");
                case '"' -> page.append("&quot;");
                case '\'' -> page.append("&#39;");
                default -> page.append(c);
            }
        }
    }

    /** The page. */
    static String page(DataSource database, String query) throws SQLException {
        StringBuilder page = new StringBuilder(200_000).append(HEAD);
        // Without an order: both databases give the rows of this table as they were inserted.
        try (Connection connection = database.getConnection();
            PreparedStatement list = connection.prepareStatement("SELECT * FROM comments LIMIT ?")) {
            list.setInt(1, rows(query));
            try (ResultSet row = list.executeQuery()) {
                while (row.next()) {
                    page.append("<tr><td>");
                    escape(page, row.getString(1));
                    page.append("</td><td>");
                    escape(page, row.getString(2));
                    page.append("</td><td>");
                    escape(page, row.getString(3));
                    page.append("</td></tr>\n");
                }
            }
        }
        return page.append(FOOT).toString();
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        byte[] page;
        try {
            page = page(database, request.getQueryString()).getBytes(StandardCharsets.UTF_8);
        } catch (SQLException error) {
            throw new IOException(error);
        }
        response.setContentType("text/html; charset=utf-8");
        response.setContentLength(page.length);
        try (OutputStream out = response.getOutputStream()) {
            out.write(page);
        }
    }

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (request.getContentLengthLong() > LONGEST) {
            answer(response, 413, "413 Content Too Large");
            return;
        }
        String[] values = values(request.getInputStream().readAllBytes());
        if (values == null) {
            answer(response, 400, "400 Bad Request");
            return;
        }
        try (Connection connection = database.getConnection();
            PreparedStatement insert =
                connection.prepareStatement("INSERT INTO comments (name, email, comments) VALUES (?, ?, ?)")) {
            for (int at = 0; at < values.length; at++) {
                insert.setString(at + 1, values[at]);
            }
            insert.executeUpdate();
        } catch (SQLException error) {
            throw new IOException(error);
        }
        // Where the page of JSP has sent it here, its own path.
        Object forwarded = request.getAttribute(RequestDispatcher.FORWARD_REQUEST_URI);
        response.setHeader("Location", forwarded == null ? request.getRequestURI() : forwarded.toString());
        answer(response, 303, "Thank you");
    }

    private static void answer(HttpServletResponse response, int status, String text) throws IOException {
        response.setStatus(status);
        response.setContentType("text/plain");
        response.getOutputStream().print(text + "\n");
    }

    /** What a form says; null if it lacks a name or a comment, or has what is no text. */
    private static String[] values(byte[] body) {
        String[] values = {"", "", ""};
        for (String part : new String(body, StandardCharsets.ISO_8859_1).split("&")) {
            int cut = part.indexOf('=');
            int at = cut < 0 ? -1 : java.util.List.of("name", "email", "comments").indexOf(part.substring(0, cut));
            if (at < 0) {
                continue;
            }
            try {
                values[at] = text(part.substring(cut + 1));
            } catch (CharacterCodingException | NumberFormatException error) {
                return null;
            }
        }
        boolean lacks = values[0].isEmpty() || values[2].isEmpty();
        return lacks || String.join("", values).indexOf('\0') >= 0 ? null : values;
    }

    /** A value of a form, strictly as UTF-8. */
    private static String text(String encoded) throws CharacterCodingException {
        byte[] bytes = new byte[encoded.length()];
        int length = 0;
        for (int at = 0; at < encoded.length(); at++) {
            char c = encoded.charAt(at);
            if (c == '%' && at + 2 < encoded.length()) {
                bytes[length++] = (byte) Integer.parseInt(encoded.substring(at + 1, at + 3), 16);
                at += 2;
            } else {
                bytes[length++] = (byte) (c == '+' ? ' ' : c);
            }
        }
        return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, 0, length)).toString();
    }
}
