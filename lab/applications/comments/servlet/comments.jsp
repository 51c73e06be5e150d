<%@ page contentType="text/html; charset=utf-8" session="false" trimDirectiveWhitespaces="true"
         import="lab.Comments, java.sql.*, javax.naming.InitialContext, javax.sql.DataSource" %>
<%-- The comments as a page of JSP: the table with its rows as tags and words of Java between; connections come from
     Tomcat's pool. What the form sends goes to the servlet. --%>
<%!
    private DataSource database;

    public void jspInit() {
        try {
            database = (DataSource) new InitialContext().lookup("java:comp/env/jdbc/comments");
        } catch (javax.naming.NamingException error) {
            throw new IllegalStateException(error);
        }
    }

    private static String escaped(String text) {
        StringBuilder to = new StringBuilder(text.length() + 32);
        Comments.escape(to, text);
        return to.toString();
    }
%>
<%
    if (request.getMethod().equals("POST")) {
        request.getRequestDispatcher("/comments").forward(request, response);
        return;
    }
    try (Connection connection = database.getConnection();
        PreparedStatement list = connection.prepareStatement("SELECT * FROM comments LIMIT ?")) {
        list.setInt(1, Comments.rows(request.getQueryString()));
        ResultSet row = list.executeQuery();
%><%= Comments.HEAD %><% while (row.next()) {
%><tr><td><%= escaped(row.getString(1)) %></td><td><%= escaped(row.getString(2)) %></td><td><%= escaped(row.getString(3)) %></td></tr>
<% } %><%= Comments.FOOT %><% } %>