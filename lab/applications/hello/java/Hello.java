package lab;

import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** A word from a servlet. */
@WebServlet("/hello")
public class Hello extends HttpServlet {
    private static final byte[] WORD = {'H', 'e', 'l', 'l', 'o'};

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setContentType("text/plain");
        response.setContentLength(WORD.length);
        response.getOutputStream().write(WORD);
    }
}
