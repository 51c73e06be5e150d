# The FastCGI programs, before nginx; each forks as often as it is told.
umask 0
@ROOT@/fastcgi-c/hello @RUN@/state/c.sock 64 &
c=$!
@ROOT@/fastcgi/hello.fcgi @RUN@/state/perl.sock 64 &
perl=$!
trap 'kill $c $perl' TERM
until [ -S @RUN@/state/c.sock ] && [ -S @RUN@/state/perl.sock ]; do
    kill -0 $c && kill -0 $perl || exit 1
    sleep 0.02
done
: >@RUN@/state/ready
wait
