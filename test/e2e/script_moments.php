<?php
// Runs the paths in a file, one a line: "STEP STEP ... SIZE". At the end of each path it keeps a string of that size and
// prints the frames that debug_backtrace() sees there.
$keep = [];
$path = [];

function moment($size)
{
    $lines = [];
    $calls = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    foreach ($calls as $i => $call) {
        $outer = $calls[$i + 1] ?? null;
        $name = $outer === null ? '{main}' : (isset($outer['class']) ? $outer['class'] . '::' : '') . $outer['function'];
        $name = ['include' => '{include}', 'eval' => '{eval}'][$name] ?? $name;
        $lines[] = $name . '|' . ($call['file'] ?? '') . '|' . ($call['line'] ?? 0);
    }
    echo implode("\t", [$size, ...$lines]), "\n";
}

class Shop
{
    public function buy() {
        go();
    }
    public static function sell() { go(); }
    public function __get($name) { go(); return 1; }
    public function __call($name, $args) { go(); }
    public function __invoke() { go(); }
    public function each() { array_map(function ($x) { go(); }, [1]); }
}

class Gone { public function __destruct() { go(); } }

class Steps implements IteratorAggregate
{
    public function getIterator(): Iterator { go(); return new ArrayIterator([]); }
}

function plain()
{
    go();
}

function numbers() { go(); yield 1; }
function outer_numbers() { yield from numbers(); }

$step = [
    'plain' => 'plain',
    'method' => fn() => (new Shop)->buy(),
    'static' => function () { Shop::sell(); },
    'closure' => function () {
        $inner = function () {
            go();
        };
        $inner();
    },
    'eval' => function () { eval("\n\n  go();"); },
    'include' => function () { include $GLOBALS['argv'][2]; },
    'usort' => function () { $a = [1, 2]; usort($a, function ($x, $y) { go(); return 0; }); },
    'array_map' => function () { (new Shop)->each(); },
    'generator' => function () { foreach (numbers() as $x); },
    'yield_from' => function () { foreach (outer_numbers() as $x); },
    'get' => function () { $x = (new Shop)->anything; },
    'call' => function () { (new Shop)->whatever(1); },
    'invoke' => function () { (new Shop)(); },
    'destruct' => function () { $x = new Gone; unset($x); },
    'iterator' => function () { foreach (new Steps as $x); },
    'call_user_func' => function () { call_user_func_array(['Shop', 'sell'], []); },
    'preg' => function () { preg_replace_callback('/a/', function ($m) { go(); return ''; }, 'a'); },
    'catch' => function () { try { throw new Exception; } catch (Exception $e) { go(); } finally { $x = 1; } },
];

function go()
{
    global $path, $step, $keep;
    if (count($path) > 1) { ($step[array_shift($path)])(); return; }
    if ($path) {
        $size = (int)array_shift($path);
        moment($size); $keep[] = str_repeat('x', $size);
    }
}

if (getenv('MOMENTS_WAIT')) {
    echo "ready\n";
    while (!str_contains(file_get_contents('/proc/self/maps'), 'heapscope')) {
        usleep(20000);
    }
    usleep(700000);
}
foreach (file($argv[1]) as $line) {
    $path = explode(' ', trim($line));
    go();
}
posix_kill(getmypid(), 9); // what is kept stays
