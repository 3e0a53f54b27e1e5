# Runs the paths in a file, one a line: "STEP STEP ... SIZE". At the end of each path it keeps a string of that size and
# prints the frames that caller_locations() sees there.
$keep = []
$path = []

def moment(size)
  frames = caller_locations(1).map { |at| "#{at.label}|#{at.path}|#{at.lineno}" }
  puts [size, *frames].join("\t")
end

class Shop
  def buy
    go
  end
  def self.sell = go
  def method_missing(name, *args) = go
  def respond_to_missing?(*) = true
  def each
    yield
  end
  def <=>(other)
    go
    0
  end
  define_method(:defined) { go }
  include Comparable
end

def plain
  go
end

def keeps_block(&block)
  block.call
end

STEPS = {
  "plain" => method(:plain),
  "method" => -> { Shop.new.buy },
  "class_method" => -> { Shop.sell },
  "missing" => -> { Shop.new.nothing },
  "yield" => -> {
    Shop.new.each do
      go
    end
  },
  "block" => -> { keeps_block { go } },
  "times" => -> { 1.times { |i| go } },
  "map" => -> { { a: 1 }.map { |k, v| go } },
  "sort" => -> { [2, 1].sort { |a, b| go; 0 } },
  "compare" => -> { Shop.new < Shop.new },
  "eval" => -> { eval("\n\n  go") },
  "instance_eval" => -> { Shop.new.instance_eval { Shop.sell } },
  "send" => -> { Shop.new.send(:buy) },
  "defined" => -> { Shop.new.defined },
  "rescue" => -> {
    begin
      raise "x"
    rescue StandardError
      go
    end
  },
  "ensure" => -> {
    begin
      1
    ensure
      go
    end
  },
  "fiber" => -> { Fiber.new { go }.resume },
  "thread" => -> { Thread.new { go }.join },
  "inject" => -> { [1, 2].inject { |a, b| go } },
  "class" => -> { Class.new { go } },
  "lines" => -> {
    x = 1
    y = x + 1; z = [x,
      y,
      go]
  },
}

def go
  if $path.size > 1
    name = $path.shift
    STEPS[name].call
  elsif $path.size == 1
    size = $path.shift.to_i
    moment(size); $keep << "x" * size
  end
end

if ENV["MOMENTS_WAIT"]
  puts "ready"
  $stdout.flush
  sleep 0.02 until File.read("/proc/self/maps").include?("heapscope")
  sleep 0.7
end
File.readlines(ARGV[0]).each do |line|
  $path = line.split
  go
end
$stdout.flush
Process.kill(:KILL, Process.pid) # what is kept stays
