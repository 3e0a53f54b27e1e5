# bash completion for heapscope
# tools/check-commands compares the lists below with `heapscope COMMAND --help`.

_heapscope()
{
    local cur prev words cword split
    _init_completion -s -n : || return

    local commands='run attach detach record start stop list snapshot snapshots top report diff export query deobfuscate symbolize bundle dupes profile ui check doctor'
    local command='' i
    for ((i = 1; i < cword; i++)); do
        if [[ ${words[i]} != -* ]]; then
            command=${words[i]}
            break
        fi
    done

    if [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$cur")
        return
    fi

    # After `--`, complete the command line of the program that `run` starts.
    if [[ $command == run ]]; then
        for ((i++; i < cword; i++)); do
            if [[ ${words[i]} == -- ]]; then
                _command_offset $((i + 1))
                return
            fi
        done
    fi

    case $command:$prev in
        *:--output | *:-o)
            _filedir
            return
            ;;
        attach:--name | attach:-n)
            mapfile -t COMPREPLY < <(compgen -W "$(ps -eo comm= 2>/dev/null)" -- "$cur")
            return
            ;;
        diff:--format | diff:-f)
            mapfile -t COMPREPLY < <(compgen -W 'table tree json folded pprof svg leaks-json' -- "$cur")
            return
            ;;
        check:--against | check:--suppressions | check:--limits | check:--junit | report:--base | export:--base)
            _filedir
            return
            ;;
        check:--max-* | check:--stack)
            return
            ;;
        diff:--snapshots | diff:--process)
            return
            ;;
        export:--format | export:-f)
            mapfile -t COMPREPLY < <(compgen -W 'pprof folded speedscope svg massif json sqlite memory-infra' -- "$cur")
            return
            ;;
        query:--format)
            mapfile -t COMPREPLY < <(compgen -W 'table csv json' -- "$cur")
            return
            ;;
        query:--file | query:-f | query:--query-file | query:-q)
            _filedir
            return
            ;;
        top:--by)
            mapfile -t COMPREPLY < <(compgen -W 'stacks functions types' -- "$cur")
            return
            ;;
        top:--delay | top:-d | top:--iterations | top:-n)
            return
            ;;
        *:--stack-mode)
            mapfile -t COMPREPLY < <(
                compgen -W 'native native-with-thread-names pseudo mixed' -- "$cur"
            )
            return
            ;;
        *:--view)
            mapfile -t COMPREPLY < <(
                compgen -W 'space objects alloc_space alloc_objects peak auto' -- "$cur"
            )
            return
            ;;
        start:--name | start:-n | snapshot:--name | snapshot:-n | snapshot:--by-name | snapshots:--by-name)
            mapfile -t COMPREPLY < <(compgen -W "$(ps -eo comm= 2>/dev/null)" -- "$cur")
            return
            ;;
        start:--pid | start:-p | snapshot:--pid | snapshot:-p | snapshot:--by-koid | snapshots:--pid | snapshots:-p | snapshots:--by-koid)
            mapfile -t COMPREPLY < <(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$cur")
            return
            ;;
        snapshots:--download | snapshots:--delete)
            mapfile -t COMPREPLY < <(
                compgen -W "$(heapscope snapshots --json 2>/dev/null | sed -n 's/.*"id": "\([^"]*\)".*/\1/p')" -- "$cur"
            )
            return
            ;;
        *:--symbols | ui:--speedscope-dir | bundle:--symbol-paths | symbolize:--output-directory | symbolize:--breakpad-symbols-directory | dupes:--contents-dir | snapshot:--output-contents-dir)
            _filedir -d
            return
            ;;
        ui:--perfetto | ui:--speedscope)
            _filedir '@(pftrace|pb|pb.gz|tar)'
            return
            ;;
        *:--output-file | deobfuscate:--proguard-map | doctor:--policy | record:--config | profile:--output-dir)
            _filedir
            return
            ;;
        export:--labels)
            mapfile -t COMPREPLY < <(compgen -W 'thread type age scope label' -- "$cur")
            return
            ;;
        *:--max-overhead)
            mapfile -t COMPREPLY < <(compgen -W '0.5% 1% 2% 5%' -- "$cur")
            return
            ;;
        *:--counters)
            mapfile -t COMPREPLY < <(compgen -W '100ms 1s 10s off' -- "$cur")
            return
            ;;
        start:--min-memory | dupes:--min-bytes | *:--other-below | *:--focus | *:--from | *:--hide | run:--only | *:--heap | *:--heaps | *:--exclude-heaps | *:--timestamps | *:--continuous-dump | *:--block-client-timeout | *:--dump-phase | *:--system-stats | start:--session)
            return
            ;;
        *:--interval | *:-i | *:--dump-every | *:--dump-above | *:--max-memory | *:--max-cpu-secs | *:--shmem-size | *:--duration | *:-d | *:--top | *:--frames | *:--snapshot | *:--pid | *:--width | ui:--port)
            return
            ;;
    esac
    $split && return

    local options='--help'
    case $command in
        run)
            options+=' --interval --output --html --quiet --dump-every --dump-phase --dump-at-max --dump-above --dump-on-usr1'
            options+=' --heaps --all-heaps --exclude-heaps --lifetimes --native-only --duration --only --no-follow --blocks --no-symbolize --no-compress --top --'
            options+=' --counters --smaps --no-types --system-stats'
            options+=' --max-overhead --max-memory --max-cpu-secs --shmem-size --block-client --no-block-client'
            ;;
        attach)
            options+=' --name --interval --output --duration --quiet --dump-every --dump-phase --dump-at-max'
            options+=' --heaps --all-heaps --exclude-heaps --lifetimes --native-only --dump-above --allocator --children --no-follow --blocks --no-symbolize --no-compress --top'
            options+=' --counters --smaps --no-types --system-stats'
            options+=' --max-overhead --max-memory --max-cpu-secs --shmem-size --block-client --no-block-client'
            ;;
        record)
            options+=' --interval --duration --name --pid --continuous-dump --config --heaps --all-heaps --lifetimes --native-only --no-running'
            options+=' --exclude-heaps --blocks --symbols'
            options+=' --no-startup --dump-at-max --disable-fork-teardown --output --no-annotations --no-types --print-config'
            options+=' --shmem-size --block-client --block-client-timeout --no-block-client --'
            ;;
        profile)
            options+=' --alloc --no-annotations --pid --heap --timestamps --output-dir --symbols'
            ;;
        start)
            options+=' --name --pid --all --min-memory --interval --output --duration --dump-every --dump-phase'
            options+=' --heaps --all-heaps --exclude-heaps --lifetimes --native-only --dump-at-max --dump-above --children --no-running --no-startup --blocks --no-symbolize --session --quiet'
            options+=' --counters --smaps --no-types --system-stats'
            options+=' --max-overhead --max-memory --max-cpu-secs --shmem-size --block-client --no-block-client'
            ;;
        stop)
            options+=' --quiet'
            ;;
        list)
            options+=' --json'
            ;;
        snapshot)
            options+=' --pid --by-koid --name --by-name --output --output-file --blocks --with-tags --output-contents-dir --no-symbolize --no-types --quiet'
            ;;
        snapshots)
            options+=' --json --by-name --pid --by-koid --download --delete --output --output-file --quiet'
            ;;
        top)
            options+=' --delay --iterations --plain --top --by --attach'
            ;;
        report)
            options+=' --view --tree --focus --from --hide --short-names --annotations --stack-mode --other-below --top --frames --snapshot --pid --heap --base --by --leaks --rss --lifetimes --temporary --health --html --output --json --width --symbols'
            ;;
        check)
            options+=' --max-live --max-peak --max-rss --max-unexplained --max-leak --max-leak-stack --max-leak-growth --suppressions --max-allocs --stack'
            options+=' --heap --against --max-growth --strict --limits --json --junit --symbols'
            ;;
        diff)
            options+=' --by --stack-mode --view --snapshots --process --heap --focus --from --hide --short-names --annotations --normalize --trend --rss --tree --json --format --output --top --threshold --size-threshold --symbols'
            ;;
        export)
            options+=' --format --output --view --snapshot --pid --heap --base --focus --from --hide --short-names --annotations --stack-mode --other-below --with-tags --labels --quiet --symbols'
            ;;
        query)
            options+=' --format --file --query-file --query-string --heap --symbols'
            ;;
        dupes)
            options+=' --contents-dir --top --min-bytes --pid --json --symbols'
            ;;
        bundle)
            options+=' --output --symbol-paths --symbols --no-auto-symbol-paths --proguard-map --no-auto-proguard-maps --verbose --quiet'
            ;;
        deobfuscate)
            options+=' --proguard-map --all --output --quiet'
            ;;
        symbolize)
            options+=' --output --no-backup --output-directory --breakpad-symbols-directory --quiet --symbols'
            ;;
        ui)
            options+=' --perfetto --speedscope --speedscope-dir --port --no-open'
            ;;
        doctor)
            options+=' --policy --json'
            ;;
    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    elif [[ $command == @(run|doctor) ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    elif [[ $command == start || $command == stop || $command == list || $command == snapshot || $command == snapshots ]]; then
        COMPREPLY=()
    elif [[ $command == top ]]; then
        _filedir '@(pftrace|pb|pb.gz|tar)'
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(ps -eo comm= 2>/dev/null)" -- "$cur")
    elif [[ $command == query ]]; then
        _filedir
    elif [[ $command == symbolize ]]; then
        _filedir '@(json|json.gz|pftrace|tar)'
    else
        _filedir '@(pftrace|pb|pb.gz|tar)'
    fi
}
complete -F _heapscope heapscope
