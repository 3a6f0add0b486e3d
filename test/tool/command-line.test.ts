import { describe, expect, it } from 'vitest'
import type { ToolRule } from '../../src/event/permission.ts'
import { commandSubject } from '../../src/tool/command-line.ts'
import { toolVerdict } from '../../src/tool/tool-rules.ts'

/**
 * The commands of a line; `…` is text that is not known, prefix `?`: not allowed by patterns, `??`: not fully parsed.
 */
function read(line: string): string {
  const { commands, doubt, unread } = commandSubject(line)
  const mark = unread === true ? '?? ' : doubt === undefined ? '' : '? '
  return mark + commands.map(({ texts: [{ text, isOpen }] }) => text + (isOpen === true ? '…' : '')).join(' | ')
}

describe('a command line is split into its simple commands', () => {
  it.each<readonly [line: string, commands: string]>([
    // words and quotes
    ['npm test', 'npm test'],
    ['  npm \t test  ', 'npm test'],
    ['', ''],
    ['# nothing', ''],
    ['npm test # and more; rm x', 'npm test'],
    ['echo a#b', 'echo a#b'],
    ["echo 'a b'", "echo 'a b'"],
    ['echo "a b"', "echo 'a b'"],
    [String.raw`echo a\ b`, "echo 'a b'"],
    ["echo ''", "echo ''"],
    ['echo "it\'s"', String.raw`echo 'it'\''s'`],
    ['"npm" \'test\'', 'npm test'],
    [String.raw`r\m x`, 'rm x'],
    [`r''m x`, 'rm x'],
    [`'rm x'`, "'rm x'"],
    ['npm \\\n test', 'npm test'],
    ['np\\\nm test', 'npm test'],
    [String.raw`echo "a\$b\"c\d"`, String.raw`echo 'a$b"c\d'`],
    [String.raw`echo $'a\x41\102\n'`, "echo 'aAB\n'"],
    [String.raw`$'\x72m' x`, 'rm x'],
    [String.raw`echo $'it\'s'`, String.raw`echo 'it'\''s'`],
    ['git commit -m "a && rm -rf / ; b | c > d"', "git commit -m 'a && rm -rf / ; b | c > d'"],
    ["git commit -m '$(rm x)'", "git commit -m '$(rm x)'"],
    ['echo a=b', 'echo a=b'],
    ['./x.sh -a --b=c', './x.sh -a --b=c'],
    ['[ -f x ]', '[ -f x ]'],
    ['find . -name a.ts', 'find . -name a.ts'],
    ['echo é ü', 'echo é ü'],
    // operators
    ['a && b', 'a | b'],
    ['a&&b', 'a | b'],
    ['a || b', 'a | b'],
    ['a; b', 'a | b'],
    ['a;b;', 'a | b'],
    ['a | b', 'a | b'],
    ['a |& b', 'a | b'],
    ['a & b', 'a | b'],
    ['a &', 'a'],
    ['a\nb', 'a | b'],
    ['a\n\n\nb\n', 'a | b'],
    ['a && b || c; d | e & f', 'a | b | c | d | e | f'],
    ['a &&\nb', 'a | b'],
    ['! a', 'a'],
    ['! a && ! b', 'a | b'],
    ['time a', 'a'],
    ['time -p a', 'a'],
    // groups and grammar
    ['(a; b)', 'a | b'],
    ['(cd x && ls) | wc', 'cd x | ls | wc'],
    ['((a) b)', '?? '],
    ['( (a); b )', 'a | b'],
    ['{ a; b; }', 'a | b'],
    ['{ a; } && b', 'a | b'],
    ['{a', '? …'],
    ['if a; then b; elif c; then d; else e; fi', 'a | b | c | d | e'],
    ['if a\nthen b\nfi', 'a | b'],
    ['while a; do b; done', 'a | b'],
    ['until a; do b; done; c', 'a | b | c'],
    ['for x in a b; do c; done', 'c'],
    ['for x in a b\ndo c; done', 'c'],
    ['for x; do c $x; done', 'c …'],
    ['for x do c $x; done', 'c …'],
    ['for x in do; do c; done', 'c'],
    ['for x\ndo c; done', 'c'],
    ['for x in $(a); do b; done', '? a | b'],
    ['for PATH in x; do b; done', '? PATH=… | b'],
    ['for PATH in x\ndo b; done', '? PATH=… | b'],
    ['for KUBECONFIG in x; do b; done', 'KUBECONFIG=… | b'],
    ['for http_proxy in x; do b; done', 'http_proxy=… | b'],
    ['f() { rm x; }; f', '? rm x | f'],
    ['f () (rm x)', '? rm x'],
    ['function f { rm x; }', '? rm x'],
    ['function f() { rm x; }', '? rm x'],
    ['npm() { rm x; }; npm test', '? rm x | npm test'],
    ['echo if then fi', 'echo if then fi'],
    ['echo {', 'echo {'],
    ['echo for', 'echo for'],
    ['case a in a) b;; esac', '?? '],
    ['select x in a; do b; done', '?? '],
    ['[[ a == b ]]', '[[ a == b ]]'],
    ['[[ -n $(a) && -f b ]] && c', '? a | [[ -n … | c'],
    ['[[ a =~ b ]]', '?? '],
    ["[[ -v 'a[$(b)]' ]]", '?? '],
    ["[[ 'a[$(b)]' -eq 0 ]]", '?? '],
    ['(( a + b ))', '?? '],
    ['coproc a', '?? '],
    ['for ((i=0; i<3; i++)); do a; done', '?? '],
    // text that is not known before the command runs
    ['echo $HOME', 'echo …'],
    ['echo ${HOME}/x', 'echo …'],
    ['echo a$1b', 'echo a…'],
    ['echo "a $x b"', 'echo …'],
    ['echo $? $# $@ $$', 'echo …'],
    ['echo $', "echo '$'"],
    ['echo "$" a', "echo '$' a"],
    ['ls *.ts', 'ls …'],
    ['ls src/*.ts a', 'ls src/…'],
    ['ls a?', 'ls a…'],
    ['ls [ab]', 'ls …'],
    ["ls '*.ts'", 'ls *.ts'],
    ['ls {a,b}', 'ls …'],
    ['cp a{,.old}', 'cp a…'],
    ['ls ~/x', 'ls …'],
    ['ls --to=~/x', 'ls --to=…'],
    ['ls a~', 'ls a~'],
    ['$X y', '? …'],
    ['"$X" y', '? …'],
    ['a$X y', '? a…'],
    ['*.sh', '? …'],
    ['echo ${x:-a}', '?? '],
    ['echo ${x:=$(rm y)}', '?? '],
    ['echo ${#x}', '?? '],
    ['echo $((1 + 2))', '?? '],
    ['echo $[1 + 2]', '?? '],
    // substitutions
    ['echo $(rm x)', '? rm x | echo …'],
    ['echo "$(rm x)"', '? rm x | echo …'],
    ['echo `rm x`', '? rm x | echo …'],
    ['echo "`rm x`"', '? rm x | echo …'],
    ['echo `echo \\`rm x\\``', '? rm x | echo … | echo …'],
    ['echo $(echo $(rm x))', '? rm x | echo … | echo …'],
    ['$(rm x)', '? rm x | …'],
    ['echo $(rm x; ls) a', '? rm x | ls | echo …'],
    ['diff <(a) <(b)', '? a | b | diff …'],
    ['a > >(b)', '? b | a'],
    ['x=$(rm y)', '? rm y | x=…'],
    ['echo $"a"', '? echo a'],
    ['echo $(a', '?? '],
    ['echo `a', '?? '],
    ["echo 'a", '?? '],
    ['echo "a', '?? '],
    ['echo a\\', '?? '],
    ['a )', '?? '],
    ['( a', '?? '],
    // redirects
    ['a > b', '? a'],
    ['a >b c', '? a c'],
    ['a >> b', '? a'],
    ['a >| b', '? a'],
    ['a &> b', '? a'],
    ['a &>> b', '? a'],
    ['a >& b', '? a'],
    ['a 2> b', '? a'],
    ['a <> b', '? a'],
    ['a {fd}> b', '? a'],
    ['> b', '? '],
    ['a > $X', '? a'],
    ['a > /dev/null', 'a'],
    ['a >/dev/null 2>&1', 'a'],
    ['a 2>/dev/null | b', 'a | b'],
    ['a &>/dev/null', 'a'],
    ['a 2>&1', 'a'],
    ['a >&2', 'a'],
    ['a 2>&-', 'a'],
    ['a > /dev/null/../x', '? a'],
    ['a > /dev/tcp/h/1', '? a'],
    ['a < b', 'a'],
    ['a < $X', '? a'],
    ['a < /dev/tcp/h/1', '? a'],
    ['a <<< b', 'a'],
    ['a <<< "$(rm x)"', '? rm x | a'],
    ['2>&1 a', 'a'],
    ['< b a', 'a'],
    // here-documents
    ['a <<E\nrm x\nE\nb', 'a | b'],
    ['a <<E && c\nrm x\nE\nb', 'a | c | b'],
    ['a <<-E\n\trm x\n\tE\nb', 'a | b'],
    ["a <<'E'\n$(rm x)\nE\nb", 'a | b'],
    ['a <<E\n$(rm x)\nE\nb', '? a | rm x | b'],
    ['a <<E\n`rm x`\nE', '? a | rm x'],
    ['a <<E\n$HOME "it\'s"\nE\nb', 'a | b'],
    ['a <<E\nrm x', '? a'],
    ['a <<E', '? a'],
    ['a <<E\nE\\\n\nrm x\nE', '?? a'],
    ["a <<'E'\nb\\\nE\nc", 'a | c'],
    ['a <<E <<F\n1\nE\n2\nF\nb', 'a | b'],
    // variables in front
    ['A=1 npm test', 'A=1 npm test'],
    ['A=1 B="2 3" npm test', "A=1 'B=2 3' npm test"],
    ['CI=1 npm test', 'npm test'],
    ['LC_ALL=C TZ=UTC ls', 'ls'],
    ['A=$X npm test', 'A=…'],
    ['A=1', 'A=1'],
    ['A+=1 b', 'A+=1 b'],
    ['PATH=/x npm test', '? PATH=/x npm test'],
    ['LD_PRELOAD=x.so npm test', '? LD_PRELOAD=x.so npm test'],
    ['NODE_OPTIONS=-r=x npm test', '? NODE_OPTIONS=-r=x npm test'],
    ['GIT_SSH_COMMAND=x git pull', '? GIT_SSH_COMMAND=x git pull'],
    ['BASH_ENV=x sh y', '? BASH_ENV=x sh y'],
    ['npm_config_script_shell=x npm test', '? npm_config_script_shell=x npm test'],
    ['A=1; PATH=/x', '? A=1 | PATH=/x'],
    ['a[0]=1 b', '? a…'],
    ['A=(1 2)', '?? '],
    ['A\\\n=1 b', 'A=1 b'],
    ['A\\\nB=1 b', 'AB=1 b'],
    ['a[b[0]]=1 c', '?? a…'],
    ["a['b]']=1 c", '?? a…'],
    ['a[x]=1', '?? a…'],
    ['a[12]+=1', '? a…'],
    ['i\\\nf a; then b; fi', 'a | b'],
    ['echo "$\\\n(rm x)"', '?? '],
    ['a <\\\n<E\nE', '?? '],
    [String.raw`echo $'a\x00b'`, '?? '],
    [String.raw`echo $'a\0b'`, '?? '],
    [String.raw`echo $'\x{65}'`, '?? '],
    [String.raw`echo $'\xc3'`, '?? '],
    ["'A'=1 b", 'A=1 b'],
    // odd cases
    ['!!', "? '!!'"],
    ['!npm', "? '!npm'"],
    ['echo a!b', "? echo 'a!b'"],
    ['echo a! b', "echo 'a!' b"],
    ["echo '!x'", "echo '!x'"],
    ['echo\u00a0a', "? 'echo\u00a0a'"],
    ['echo \u001bx', '? echo \u001bx'],
    ['a\u0000b', '?? '],
    ['echo @(a|b)', '?? '],
    ['a\r\nb', "? 'a\r' | b"],
  ])('%j', (line, commands) => {
    expect(read(line)).toBe(commands)
  })

  it('however long and deep it is', () => {
    expect(read('('.repeat(500) + 'a' + ')'.repeat(500))).toBe('?? ')
    expect(read(`${'$(a '.repeat(200)}`)).toBe('?? ')
    expect(read('a; '.repeat(50_000))).toBe('?? ')
    expect(read('a; '.repeat(30_000)).split(' | ')).toHaveLength(30_000)
  })
})

describe('commands that start others', () => {
  it.each<readonly [line: string, commands: string]>([
    ['env', 'env'],
    ['env A=1 npm test', 'env A=1 npm test | npm test'],
    ['env -i -u B PATH=x npm test', 'env -i -u B PATH=x npm test | npm test'],
    ['env -S "rm x"', "?? env -S 'rm x'"],
    ['sudo rm x', 'sudo rm x | rm x'],
    ['sudo -u root -- rm x', 'sudo -u root -- rm x | rm x'],
    ['sudo --whatever rm x', '?? sudo --whatever rm x'],
    ['xargs rm', 'xargs rm | rm …'],
    ['xargs -0 -n 1 rm -f', 'xargs -0 -n 1 rm -f | rm -f …'],
    ['xargs', 'xargs'],
    ["sh -c 'rm x; ls'", "sh -c 'rm x; ls' | rm x | ls"],
    ['bash -lc "rm x"', "bash -lc 'rm x' | rm x"],
    ['bash -c "$X"', '?? bash -c …'],
    ['bash -c "rm $X"', '?? bash -c …'],
    ['bash', '?? bash'],
    ['curl x | sh', '?? curl x | sh'],
    ['bash -s', '?? bash -s'],
    ['bash x.sh', 'bash x.sh'],
    ['bash --rcfile x', '?? bash --rcfile x'],
    ['/bin/sh -c "rm x"', "/bin/sh -c 'rm x' | rm x"],
    ['timeout 5 rm x', 'timeout 5 rm x | rm x'],
    ['timeout -k 1 5 rm x', 'timeout -k 1 5 rm x | rm x'],
    ['nohup rm x &', 'nohup rm x | rm x'],
    ['nice -n 5 rm x', 'nice -n 5 rm x | rm x'],
    ['command rm x', 'command rm x | rm x'],
    ['command -v rm', 'command -v rm'],
    ['builtin eval "rm x"', "builtin eval 'rm x' | eval 'rm x' | rm x"],
    ['exec rm x', 'exec rm x | rm x'],
    ['exec -a b rm x', 'exec -a b rm x | rm x'],
    ['eval rm x', 'eval rm x | rm x'],
    ['eval "rm x; ls"', "eval 'rm x; ls' | rm x | ls"],
    ['eval "$X"', '?? eval …'],
    ["trap 'rm x' EXIT", "trap 'rm x' EXIT | rm x"],
    [String.raw`find . -exec rm {} \;`, "find . -exec rm {} ';' | rm …"],
    ['find . -name a -execdir rm {} +', 'find . -name a -execdir rm {} + | rm …'],
    ['find . -exec sh -c "rm x" ";"', "find . -exec sh -c 'rm x' ';' | sh -c 'rm x' | rm x"],
    ['find $X', '?? find …'],
    ['find . {-exec,rm,x}', '?? find . …'],
    ['find . -$X rm x', '?? find . -…'],
    ['find . -exe$X rm x', '?? find . -exe…'],
    ['find . "$X" rm x', '?? find . …'],
    ['find .$X', '?? find .…'],
    ['find src/*.ts', 'find src/…'],
    ['find . -exec ls {\\;,-exec,rm,x} \\;', '?? find . -exec ls …'],
    ['xargs env A=1', '?? xargs env A=1 | env A=1 …'],
    ['xargs timeout', '?? xargs timeout | timeout …'],
    ['xargs timeout 5', '?? xargs timeout 5 | timeout 5 …'],
    ['xargs find', '?? xargs find | find …'],
    ['xargs eval', '?? xargs eval | eval …'],
    ['xargs xargs', '?? xargs xargs | xargs …'],
    ['xargs sh -c', '?? xargs sh -c | sh -c …'],
    ['xargs env rm', 'xargs env rm | env rm … | rm …'],
    ['xargs -I% % x', '? xargs -I% % x | …'],
    ['xargs -I % sh -c %', '?? xargs -I % sh -c % | sh -c …'],
    ['env A=$X b', '?? env A=…'],
    ['env ]=1 b', '?? env ]=1 b'],
    ['env -- ]=1 b', '?? env -- ]=1 b'],
    ['env A="$X" b', 'env A=… | b'],
    ['env -u {A,rm} x', '?? env -u …'],
    ['nice -n $X b', '?? nice -n …'],
    ['sudo -s', '?? sudo -s'],
    ["bash -eo pipefail -c 'rm x'", "bash -eo pipefail -c 'rm x' | rm x"],
    ["bash -euo pipefail -c 'rm x'", "bash -euo pipefail -c 'rm x' | rm x"],
    ["bash -o pipefail -ec 'rm x'", "bash -o pipefail -ec 'rm x' | rm x"],
    ["bash +O extglob -c 'rm x'", "bash +O extglob -c 'rm x' | rm x"],
    ["bash -c -- 'rm x'", "bash -c -- 'rm x' | rm x"],
    ['bash -o $X -c a', '?? bash -o …'],
    ['bash -o pipefail', '?? bash -o pipefail'],
    ['bash /dev/stdin', '?? bash /dev/stdin'],
    ['. /dev/stdin', '?? . /dev/stdin'],
    ['source /proc/self/fd/0', '?? source /proc/self/fd/0'],
    ['cd /dev; . stdin', '?? cd /dev | . stdin'],
    ['. ./x.sh', '. ./x.sh'],
    ['. <(rm x)', '?? rm x | . …'],
    ["eval -- 'rm x'", "eval -- 'rm x' | rm x"],
    ['eval -- rm x', 'eval -- rm x | rm x'],
    ["trap -- 'rm x' EXIT", "trap -- 'rm x' EXIT | rm x"],
    ['trap $X', '?? trap …'],
    ['trap - EXIT', 'trap - EXIT | -'],
    ["printf -v 'a[$(b)]' x", "?? printf -v 'a[$(b)]' x"],
    ['printf -v PATH x', '? printf -v PATH x'],
    ['printf -v a x', 'printf -v a x'],
    ["printf '%s' 'a[b]'", 'printf %s a[b]'],
    ["test -v 'a[$(b)]'", "?? test -v 'a[$(b)]'"],
    ["[ -v 'a[$(b)]' ]", "?? [ -v 'a[$(b)]' ]"],
    ['[ $X ]', '?? [ …'],
    ['[ -n "$X" ]', '[ -n …'],
    ['[ $? -eq 0 ]', '[ …'],
    ["read 'a[$(b)]'", "?? read 'a[$(b)]'"],
    ['read -r PATH', '? read -r PATH'],
    ['read -r line', 'read -r line'],
    ['export PATH=x', '? export PATH=x'],
    ["declare 'a[$(b)]=1'", "?? declare 'a[$(b)]=1'"],
    ["declare -i 'a=b[$(c)]'", "?? declare -i 'a=b[$(c)]'"],
    ['export A=1', 'export A=1'],
    ["let 'a[$(b)]'", "?? let 'a[$(b)]'"],
    ['hash -p ./x ls', '?? hash -p ./x ls'],
    ['watch rm x', '?? watch rm x'],
    ['ssh host rm x', '?? ssh host rm x'],
    ['env sudo timeout 1 rm x', 'env sudo timeout 1 rm x | sudo timeout 1 rm x | timeout 1 rm x | rm x'],
  ])('%j', (line, commands) => {
    expect(read(line)).toBe(commands)
  })
})

function verdict(line: string, ...rules: readonly (readonly [pattern: string, effect: ToolRule['effect']])[]): string {
  const list = [
    { tool: 'bash', effect: 'ask', origin: 'default' } as const,
    ...rules.map(([pattern, effect], index): ToolRule => {
      return { tool: 'bash', ...(pattern === '' ? {} : { pattern }), effect, origin: String(index) }
    }),
  ]
  return toolVerdict([list], { kind: 'tool', tool: 'bash', input: null, subject: commandSubject(line) }, '/w').kind
}

describe('a pattern that allows', () => {
  const npm = ['npm test*', 'allow'] as const
  const git = ['git log *', 'allow'] as const

  it.each<readonly [line: string, verdict: string]>([
    ['npm test', 'allow'],
    ['npm  test -- -u', 'allow'],
    ["npm test 'a b'", 'allow'],
    ['npm test && git log', 'allow'],
    ['npm test | git log -1', 'allow'],
    ['npm test $X src/*.ts', 'allow'],
    ['CI=1 npm test 2>&1 >/dev/null', 'allow'],
    ['if npm test; then git log; fi', 'allow'],
    ['for x in 1 2; do npm test $x; done', 'allow'],
    ['(npm test)', 'allow'],
    ['npm test <<E\nrm x\nE', 'allow'],
    ['git log', 'allow'],
    ['git log --oneline', 'allow'],
    ['git logs', 'ask'],
    ['npm run test', 'ask'],
    ['npm test; rm x', 'ask'],
    ['npm test && rm x', 'ask'],
    ['npm test || rm x', 'ask'],
    ['npm test | sh', 'ask'],
    ['npm test & rm x', 'ask'],
    ['npm test\nrm x', 'ask'],
    ['npm test $(rm x)', 'ask'],
    ['npm test `git log`', 'ask'],
    ['npm test $(git log)', 'ask'],
    ['npm test <(git log)', 'ask'],
    ['npm test > x', 'ask'],
    ['npm test 2>> x', 'ask'],
    ['npm test ${X:-$(rm y)}', 'ask'],
    ['npm test $((1))', 'ask'],
    ['PATH=. npm test', 'ask'],
    ['X=1 npm test', 'ask'],
    ['X=1; npm test', 'ask'],
    ['npm$X test', 'ask'],
    ['n* test', 'ask'],
    ['"npm test"', 'ask'],
    ["'npm test' x", 'ask'],
    ['./npm test', 'ask'],
    ['/usr/bin/npm test', 'ask'],
    ['npm tes$X', 'ask'],
    ['npm te*', 'ask'],
    ['npm {test,publish}', 'ask'],
    ['npm test() { rm x; }', 'ask'],
    ['npm() { rm x; }; npm test', 'ask'],
    ['env npm test', 'ask'],
    ['sudo npm test', 'ask'],
    ['! npm test', 'allow'],
    ['npm test !x', 'ask'],
    ["npm test 'unclosed", 'ask'],
    ['npm test <<E\n$(rm x)\nE', 'ask'],
    ['', 'ask'],
    ['# npm test', 'ask'],
    ['npm test\r\nrm x', 'ask'],
    ['npm test \u2028rm x', 'ask'],
  ])('%j: %s', (line, expected) => {
    expect(verdict(line, npm, git)).toBe(expected)
  })

  it('does not allow commands by the program that starts them', () => {
    expect(verdict('env A=1 rm x', ['env *', 'allow'])).toBe('ask')
    expect(verdict('xargs rm', ['xargs *', 'allow'])).toBe('ask')
    expect(verdict("sh -c 'rm x'", ['sh *', 'allow'])).toBe('ask')
    expect(verdict('find . -exec rm {} +', ['find *', 'allow'])).toBe('ask')
    expect(verdict('find . -name a', ['find *', 'allow'])).toBe('allow')
    expect(verdict('timeout 5 npm test', ['timeout *', 'allow'], npm)).toBe('allow')
    expect(verdict('timeout 5 npm test', npm)).toBe('ask')
  })

  it('may contain variables, several parts, and match all commands', () => {
    expect(verdict('X=1 npm test', ['X=1 npm *', 'allow'])).toBe('allow')
    expect(verdict('npm run a:check --fix', ['npm run *:check *', 'allow'])).toBe('allow')
    expect(verdict('npm run a:build', ['npm run *:check*', 'allow'])).toBe('ask')
    expect(verdict('npm run $X:check', ['npm run *:check', 'allow'])).toBe('ask')
    expect(verdict('a && b', ['*', 'allow'])).toBe('allow')
    expect(verdict('a && b > c', ['*', 'allow'])).toBe('ask')
    expect(verdict('a && b > c', ['', 'allow'])).toBe('allow')
  })
})

describe('a pattern that denies', () => {
  it.each<readonly [line: string, verdict: string]>([
    ['rm x', 'deny'],
    ['rm', 'deny'],
    ['ls; rm x', 'deny'],
    ['ls $(rm x)', 'deny'],
    ['ls `rm x`', 'deny'],
    ['ls > $(rm x)', 'deny'],
    ['f() { rm x; }', 'deny'],
    ['if ls; then rm x; fi', 'deny'],
    ['/bin/rm x', 'deny'],
    [String.raw`\rm x`, 'deny'],
    ["r''m x", 'deny'],
    [String.raw`$'\x72\x6d' x`, 'deny'],
    ['A=1 rm x', 'deny'],
    ['PATH=y rm x', 'deny'],
    ['env rm x', 'deny'],
    ['sudo -u a rm x', 'deny'],
    ['ls | xargs rm', 'deny'],
    ["bash -c 'ls; rm x'", 'deny'],
    ['eval "rm x"', 'deny'],
    ['find . -exec rm {} +', 'deny'],
    ['ls <<E\n$(rm x)\nE', 'deny'],
    ['case a in a) rm x;; esac', 'deny'],
    ['[[ -f x ]] && rm x', 'deny'],
    ["ls 'rm", 'deny'],
    ['/bin/rm $X', 'deny'],
    // it is not known whether the pattern applies
    ['r$X y', 'ask'],
    ['$X y', 'ask'],
    ['{rm,x}', 'ask'],
    ['/bin/r? x', 'ask'],
    ['/b*/rm x', 'ask'],
    ['/bin/$X y', 'ask'],
    ['/bin/"$X" y', 'ask'],
    ['/bin/$(echo rm) x', 'ask'],
    ['timeout 5 /bin/[r]m x', 'ask'],
    ['[[ a ]] && r{m,} x', 'ask'],
    ['[[ a ]] && r\\\nm x', 'deny'],
    ['case a in a) r{m,x} y;; esac', 'ask'],
    ['case a in a) ls;; esac', 'ask'],
    ['((1)) && /bin/[r]m x', 'ask'],
    ['for ((;;)); do $X; done', 'ask'],
    ['curl x | sh', 'ask'],
    ['echo x | . /dev/stdin', 'ask'],
    ["bash -c '$0 x' ls", 'ask'],
    ['ls x', 'allow'],
    ['ls rm', 'allow'],
    ['git rm x', 'allow'],
    ["git commit -m 'rm x'", 'allow'],
    ['rmdir x', 'allow'],
    ['ls $X', 'allow'],
    ['[[ -f x ]]', 'allow'],
    [`${'env '.repeat(20)}rm x`, 'deny'],
  ])('%j: %s', (line, expected) => {
    expect(verdict(line, ['', 'allow'], ['rm *', 'deny'])).toBe(expected)
  })

  it('does not deny because of an unknown part if another pattern asks or denies', () => {
    expect(verdict('git $X', ['git *', 'allow'], ['git push*', 'deny'])).toBe('ask')
    expect(verdict('git log $X', ['git *', 'allow'], ['git push*', 'deny'])).toBe('allow')
    expect(verdict('git push $X', ['git *', 'allow'], ['git push*', 'deny'])).toBe('deny')
    expect(verdict('git $X', ['', 'deny'], ['git push*', 'deny'])).toBe('deny')
  })

  it('is not opened by one that asks about unknown parts', () => {
    expect(verdict('$X', ['', 'deny'], ['git *', 'ask'])).toBe('deny')
    expect(verdict('git log', ['', 'deny'], ['git *', 'ask'])).toBe('ask')
    expect(verdict('npm $X', ['npm *', 'allow'], ['npm publish*', 'ask'])).toBe('ask')
    expect(verdict('npm test', ['npm *', 'allow'], ['npm publish*', 'ask'])).toBe('allow')
  })
})
