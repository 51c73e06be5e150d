<%@ page contentType="text/html; charset=utf-8" %><% long begun = System.nanoTime(); %><!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>A page of JSP</title><link rel="stylesheet" href="/style.css"></head>
<body><main>
<h1>A page of JSP</h1>
<%
  // The session is a cookie's, and is kept while the virtual machine is not there.
  Integer before = (Integer) session.getAttribute("visits");
  int visits = before == null ? 1 : before + 1;
  session.setAttribute("visits", visits);
  long private_kb = 0;
  for (String line : java.nio.file.Files.readAllLines(java.nio.file.Path.of("/proc/self/smaps_rollup"))) {
    if (line.startsWith("Private")) private_kb += Long.parseLong(line.replaceAll("[^0-9]", ""));
  }
%>
<p>Process <%= ProcessHandle.current().pid() %> of user <%= java.nio.file.Files.getAttribute(java.nio.file.Path.of("/proc/self"), "unix:uid") %>
answers <%= request.getMethod() %> <%= request.getRequestURI() %> for <%= request.getRemoteAddr() %>, in Java
<%= System.getProperty("java.version") %> and <%= application.getServerInfo() %>.</p>
<p>You have been here <%= visits %> <%= visits == 1 ? "time" : "times" %>. The virtual machine has
<%= private_kb / 1024 %> MB to itself; this page took <%= (System.nanoTime() - begun) / 1000 %> µs.</p>
<p><a href="/#java">Back</a></p>
</main></body></html>
