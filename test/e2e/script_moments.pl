# Runs the paths in a file, one a line: "SIZE STEP STEP ...". At the end of each path it keeps a string of that size and
# prints the frames that caller() sees there.
use strict;
use warnings;
use List::Util ();

our (@keep, @path);

sub moment {
    my ($size, $depth, @frames) = ($_[0], 0);
    while (my @at = caller($depth)) {
        my @outer = caller(++$depth);
        my $name = !@outer ? '(main program)' : $outer[3] eq '(eval)' && $outer[7] ? '(require)' : $outer[3];
        push @frames, "$name|$at[1]|$at[2]";
    }
    print join("\t", $size, @frames), "\n";
}

our %step = (
    plain => \&plain, method => sub { Shop->new->buy }, closure => sub {
        my $inner = sub {
            go();
        };
        $inner->();
    },
    eval => sub { eval { go(); 1 } or die; },
    text => sub { eval "\n\n  go(); 1" or die $@; },
    sort => \&sorted, sort_block => sub { my @l = sort { go(); 0 } 2, 1; },
    grep => sub { my @l = grep {
        go();
    } 1; },
    first => sub { List::Util::first { go(); 1 } 1; },
    plus => sub { my $x = (bless [], 'Number') + 1; },
    tied => sub { tie my $scalar, 'Tied'; my $x = $scalar; },
    destroy => sub { my $x = bless [], 'Gone'; undef $x; },
    warn => sub { local $SIG{__WARN__} = sub { go() }; warn "x"; go() if @path; }, # none inside another one
    regex => sub { "a" =~ /a(?{ main::go() })/; },
    substitute => sub { (my $x = "a") =~ s/a/go(); ""/e; },
    goto => sub { goto &plain; },
    caught_sort => sub { my @l = sort { eval { go(); 1 } or die; 0 } 2, 1; },
    ok => sub { local *alias = \&plain; alias(); },
);

sub go {
    if (@path > 1) { my $name = shift @path; $step{$name}->(); return; }
    if (@path) {
        my $size = shift @path;
        moment($size); push @keep, "x" x $size;
    }
}

sub plain {
    go();
}

sub compare { eval { go() }; 0 }

sub sorted {
    my @l = sort compare 2, 1;
}

package Shop;
sub new { return bless {}, shift }
sub buy { my $self = shift;
    main::go();
}

package Number;
use overload '+' => sub { main::go(); 1 };

package Tied;
sub TIESCALAR { return bless [], shift }
sub FETCH { main::go(); return 1 }

package Gone;
sub DESTROY { main::go(); }

package main;
if ($ENV{MOMENTS_WAIT}) {
    local $/;
    $| = 1;
    print "ready\n";
    while (1) {
        open(my $maps, '<', '/proc/self/maps') or die;
        last if <$maps> =~ /heapscope/;
        select(undef, undef, undef, 0.02);
    }
    select(undef, undef, undef, 0.7); # a thread counts bytes down by its new settings from a moment later on
}
open(my $paths, '<', $ARGV[0]) or die;
my @lines = <$paths>;
for my $line (@lines) {
    @path = split ' ', $line;
    go();
}
$| = 1;
print "";
kill KILL => $$; # what is kept stays
