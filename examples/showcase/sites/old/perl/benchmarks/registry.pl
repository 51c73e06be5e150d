print "Content-type: text/plain\n\n";
print "Hello";
