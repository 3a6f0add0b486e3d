/** A number from 0 up to, not including, `below`. */
export type Random = (below: number) => number

/** Numbers that are the same in each run, and independent of each other. */
export function randomFrom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

/** The programs that lines may start, beside those that start others; each logs its name. */
export const programs = ['p0', 'p1', 'p2', 'p3'] as const
/** Where they are, as seen by the lines. */
export const programFolder = '/s'

const names = [
  'p0',
  'p0',
  'p0',
  'p1',
  'p1',
  'p2',
  `p"0"`,
  String.raw`p\1`,
  `'p1'`,
  `$'p\\x31'`,
  String.raw`$'\160\61'`,
  String.raw`$'p\u0031'`,
  String.raw`$'p1\0z'`,
  '$"p1"',
  'p\\\n1',
  'p$"0"',
  '$x',
  '"$x"',
  'p${y}',
  'p${y:-1}',
  'p$((1))',
  'p{1,2}',
  '{p0,p1}',
  '{p1,}',
  'p{0..1}',
  '/s/p1',
  '/s/p0',
  '/s/p[1]',
  '/s/p?',
  '//s/../s/p1',
  '${a[0]}',
  '${a[@]}',
  '$(echo p1)',
  '`echo p1`',
]

const rests = [
  '',
  '',
  '',
  ' a',
  ` 'b;p1'`,
  ' "c $x"',
  ' *',
  ' >/dev/null',
  ' 2>&1',
  ' <<<p1',
  ' #p1',
  ' {a,b}',
  ' ~',
  ' \\\n p1',
  ' $"p1"',
  String.raw` $'a\'; p1'`,
  ' ${x:-p1}',
  ' ${x/p/q}',
  ' $((1+1))',
  ' "$((x))"',
  ' {p1,p2}',
  ' >&2',
  ' </dev/null',
  ' "${a[@]}"',
  ' -- p1',
]

const assignments = [
  'A=1',
  'CI=1',
  'x=p1',
  'x=p0',
  'y=1',
  'PATH=$PATH',
  'x+=1',
  'X\\\n=1',
  'X\\\nY=1',
  'a[0]=p1',
  'x[a[0]]=1',
  `x['a]']=1`,
  'x["$(p1)"]=1',
  'x[$((1))]=1',
  'a=(p1 p0)',
  'a+=(p1)',
  'a=([1]=p1)',
  'A="a b"',
  'A=$(p1)',
  'A=${x:-$(p1)}',
  'A=`p1`',
  'A=$((1))',
]

/** They start the command behind them. */
const wrappers = [
  'env',
  'env A=1',
  'env -i',
  'env -u A',
  'env --',
  'env - A=1',
  "env -S 'p0 a'",
  'env -v',
  'command',
  'command -p',
  'command --',
  'builtin',
  'builtin command',
  'exec',
  'exec -a z',
  'exec -c',
  'nohup',
  'setsid -w',
  'nice',
  'nice -n 1',
  'nice -1',
  'nice --adjustment 1',
  'ionice -c 3',
  'stdbuf -oL',
  'stdbuf -o L',
  'timeout 5',
  'timeout -k 1 5',
  'timeout -s KILL 5',
  'timeout --kill-after 1 5',
  'timeout $x',
  'sudo',
  'sudo -n',
  'sudo -u root',
  'sudo A=1',
  'sudo --',
  'time',
  'time -p',
  'time --',
  '!',
  '! !',
  'echo p1 | xargs',
  'echo p1 | xargs -I% %',
  'echo p1 | xargs -I % sh -c %',
  "echo 'A=1 p1' | xargs env",
  'echo p1 | xargs -n 1',
  'echo p1 | xargs --max-args=1',
  'echo p1 | xargs -i',
  'echo p1 | xargs -r -t',
  'echo 5 | xargs timeout',
  'xargs -a /dev/null',
  'find . -maxdepth 0 -exec',
  'eval',
  'eval --',
  'coproc',
  'coproc C',
  'exec 3>&1;',
  'then_=1',
  '>/dev/null',
  '2>&1',
  '3<&0',
  '{fd}>/dev/null',
  '<<<x',
]

/** They run a text; each gets it in single quotes. */
const evaluators = [
  'sh -c',
  'bash -c',
  'bash -ec',
  'bash -eo pipefail -c',
  'bash -euo pipefail -c',
  'bash +O extglob -c',
  'bash -o errexit -c',
  'bash --norc -c',
  'bash -c -e --',
  'bash -x -c',
  'dash -c',
  'env bash -c',
  'timeout 5 bash -c',
  'command eval',
  'builtin eval',
  'eval',
  'eval --',
  'eval eval',
  'trap --',
  'env -S bash -c',
  'bash -lc',
]

/** A line that is valid until `mutated` changes it. Lines of depth 3 and more are single commands. */
export function lineOf(random: Random, depth = 0): string {
  const from = (list: readonly string[]): string => list[random(list.length)] ?? ''
  const pick = (...list: readonly string[]): string => from(list)
  const name = random(2) === 0 ? pick('p0', 'p0', 'p1') : from(names)
  const rest = random(2) === 0 ? '' : from(rests)
  if (depth > 2 || (depth > 0 && random(2) === 0)) return name + rest
  const [one, two] = [lineOf(random, depth + 1), lineOf(random, depth + 1)]
  const quoted = one.replaceAll("'", String.raw`'\''`)
  const kind = random(5)
  if (kind === 0) return joined(random, one, two)
  if (kind === 1) return loop(random, one, two)
  if (kind === 2) return substitution(random, name, one, two)
  return pick(
    `${from(wrappers)} ${name}${rest}`,
    `${from(wrappers)} ${from(wrappers)} ${name}${rest}`,
    `${from(wrappers)} ${one}`,
    `${from(assignments)} ${one}`,
    `${from(assignments)} ${from(assignments)} ${one}`,
    `${from(assignments)};${one}`,
    `${from(evaluators)} '${quoted}'${pick('', ' a', ' EXIT')}`,
    `${from(evaluators)} '${quoted}'${pick('', ' a', ' EXIT')}`,
    `trap ${pick('', '-- ')}'${quoted}' ${pick('EXIT', '0', 'DEBUG', 'ERR', 'EXIT INT')}`,
    `find . -maxdepth 0 ${pick('-exec', '-execdir', '-ok', '{-exec,p1}', '-$x')} ${name} {} ${pick(String.raw`\;`, '+', "';'")}`,
    `find . -maxdepth 0 -exec p0 {} \\; -exec ${name} \\;`,
    `echo ${name} | ${pick('sh', 'xargs', 'bash -s', '. /dev/stdin', 'source /dev/stdin', 'bash /dev/stdin', 'bash -', '. /dev/fd/0', 'while read -r x; do $x; done', 'xargs -I{} sh -c {}')}`,
    `${pick('.', 'source', 'bash', 'sh')} ${pick('/dev/stdin', '-- /dev/stdin', '/proc/self/fd/0')} <<< '${quoted}'`,
    `${pick('export', 'declare', 'readonly', 'local', 'typeset', 'declare -a', 'declare -i', 'read', 'unset', 'printf -v')} ${pick('x=p1', 'A=1', `'a[$(p1)]'`, 'y', `'a[$(p1)]=1'`, 'PATH=/x')}; ${one}`,
    `shopt -s expand_aliases\nalias ${pick('b', 'p0')}=${pick('p1', `'${quoted}'`)}\n${pick('b', 'p0')}`,
    `set -- p1; ${pick('"$@"', '$1', '$@', '"$*"')}`,
    `printf '%s\\n' p1 | { read -r z; $z; }`,
  )
}

function joined(random: Random, one: string, two: string): string {
  const pick = (...from: readonly string[]): string => from[random(from.length)] ?? ''
  return pick(
    `${one}${pick(';', ' && ', '||', '|', '&', '\n', ' |& ', '&&\n', '|\n', ' \\\n&& ', '&\\\n&')}${two}`,
    `${one}\n${two}`,
    `(${one})`,
    `( (${one}) )`,
    `((1))${pick(';', ' && ', '\n')}${one}`,
    `(( x = 1, y++ ))\n${one}`,
    `((x[$(p1)]))`,
    `{ ${one}\n}`,
    `[[ a ]] && ${one}`,
    `[[ a == ${pick('b', 'a*', '$x', '$(p1)', '"$x"')} ]] || ${one}`,
    `[[ ${pick('-n $x', 'a =~ a', '-v x', `-v 'a[$(p1)]'`, 'a && ( b || c )', '! a', 'a < b')} ]]; ${one}`,
    `[ ${pick('a', '-n "$x"', `-v 'a[$(p1)]'`, '1 -eq 1')} ] && ${one}`,
    `test ${pick('a', '-n "$x"', `-v 'a[$(p1)]'`)}; ${one}`,
    `let ${pick('x=1', `'x[$(p1)]'`)}; ${one}`,
    `${one} # ${two}`,
    `: ${pick('${x:=p1}', '${x:-$(p1)}', '$((1))', '"${x#"$(p1)"}"', "${x/'p1'/b}")}; ${one}`,
  )
}

function loop(random: Random, one: string, two: string): string {
  const pick = (...from: readonly string[]): string => from[random(from.length)] ?? ''
  const list = pick('p1 b', 'p1', '"$@" p1', '{p0,p1}', '$(echo p1)', '*', 'p1 \\\n b', '"a b"', `$'p1'`)
  return pick(
    `if ${one}\nthen ${two}\nfi`,
    `if ${one}; then p0; elif ${two}\nthen p0; else p0; fi`,
    `if ! ${one}\nthen :; else ${two}\nfi`,
    `for x in ${list}; do ${one}\ndone`,
    `for x in ${list}\ndo\n${one}\ndone`,
    `for x\nin ${list}; do ${one}\ndone`,
    `for x in ${list}; { ${one}\n}`,
    `for PATH in /x; do ${one}\ndone`,
    `for x do ${one}\ndone;${two}`,
    `for ((i=0;i<1;i++)); do ${one}\ndone`,
    `for ((;;)) { ${one}\nbreak; }`,
    `for ((x=0; x<$(p1; echo 1); x++))\ndo ${one}\ndone`,
    `until ${one}\ndo ${two}\nbreak\ndone`,
    `while ${one}\ndo ${two}\nbreak\ndone`,
    `while :; do ${one}\nbreak; done`,
    `while read -r x; do ${one}\ndone <<< p1`,
    `select x in ${list}; do ${one}\nbreak; done <<< 1`,
    `case a in a) ${one}\n;; esac`,
    `case a in (a) ${one}\n;; (b) ${two}\nesac`,
    `case $x in\n b|c) ${two}\n;;\n *) ${one}\n;;\nesac`,
    `case a in a) ${one}\n;& b) ${two}\n;;& *) p0;; esac`,
    `case $(${one}\n) in *) ${two}\n;; esac`,
    `case "a b" in "a b") ${one}\n;; $(p1)) :;; esac; ${two}`,
    `case in in in) ${one}\n;; esac`,
    `case a in esac; ${one}`,
    `case a in [a-z]*) case b in b) ${one}\n;; esac;; esac`,
    `case a\nin\n\na) ;; esac\n${one}`,
    `case a in a|esac) ${one}\n;; esac`,
    `case a in 'esac') :;; a) ${one}\n;; esac && ${two}`,
    `case a in a) ${one}\n;; esac | ${two}`,
    `f() { ${one}\n}; ${pick('f', two)}`,
    `function f { ${one}\n}; ${pick('f', two)}`,
    `function f() ( ${one}\n)\n${pick('f', two)}`,
    `f() if :; then ${one}\nfi; f`,
    `p0() { ${one}\n}; p0`,
    `coproc { ${one}\n}; wait`,
    `coproc C { ${one}\n}; wait`,
    `time { ${one}\n}`,
    `! { ${one}\n}`,
    `{ ${one}\n} >/dev/null 2>&1`,
    `(${one}) | while read -r z; do ${two}\ndone`,
  )
}

function substitution(random: Random, name: string, one: string, two: string): string {
  const pick = (...from: readonly string[]): string => from[random(from.length)] ?? ''
  return pick(
    `${name} $(${one}\n)`,
    `${name} "$(${one}\n)"`,
    `${name} "a$(${one}\n)b" 'c'`,
    `${name} <(${one}\n)`,
    `${name} >(${one}\n)`,
    `${name} < <(${one}\n)`,
    `${name} <<E\n$(${one}\n)\nE\n${two}`,
    `${name} <<'E'\n${one}\nE\n${two}`,
    `${name} <<-E\n\t${one.replaceAll('\n', '\n\t')}\n\tE\n${two}`,
    `${name} <<E <<F\n\`p1\`\nE\n$((1))\nF\n${two}`,
    `${name} <<"E F"; ${two}\n$(p1)\nE F\n${one}`,
    `${name} <<E\\\nF\nx\nEF\n${one}`,
    `cat <<E | ${pick('sh', 'bash', 'p0', 'xargs')}\n${name}\nE`,
    `${name} $((1))\n${one}`,
    `${name} $((\`${name}\`+1))`,
    `${name} $(( 1 + $(${one}\n) ))`,
    `${name} "$((x[$(p1)]))"`,
    `${name} $((x ? (1) : 2)) ; ${one}`,
    `${name} $[1]; ${one}`,
    `${name} $((echo a); ${one}\n)`,
    `${name} \${x:-$(${one}\n)}`,
    `${name} "\${x:-$(${one}\n)}"`,
    `${name} \${x:-'}'} ; ${one}`,
    `${name} "\${x:-"}"}" ; ${one}`,
    `${name} "\${x:-'}'}" ; ${one}`,
    `${name} \${x#"}"}; ${one}`,
    `${name} \${x:-\\}}; ${one}`,
    `${name} \${x:-\${y:-p1}}; ${one}`,
    `${name} \${x:-\`p1\`}`,
    `${name} \${x@P}; ${one}`,
    `${name} \${!x}; ${one}`,
    `${name} \${x[$(p1)]}; ${one}`,
    `${name} \${x:$(p1)}; ${one}`,
    `${name} \${x/a/$(p1)}; ${one}`,
    `${name} \${#x} \${#}; ${one}`,
    `${name} \${x^^} \${x,,} \${x%%.*} ; ${one}`,
    `${name} \${x:-a b;p1}; ${one}`,
    `${name} \${x:-(}; ${one}`,
    `x='$(p1)'; ${name} \${x@P}`,
    `x='a[$(p1)]'; ${pick('p0 $((x))', '((x))', 'p0 ${a[x]}', 'let x', '[[ x -eq 1 ]]', 'declare -i z=x', 'p0 ${a:x}', 'test -v "$x"', 'a[x]=1', 'read "$x" <<< 1', 'unset "$x"', 'p0 $[x]', 'for ((;x;)); do break; done', 'p0 ${z:-$((x))}', '(( x > 1 ))', '[[ -v $x ]]', 'printf -v "$x" 1', 'export "$x=1"', 'p0 "${a[$x]}"', 'case $((x)) in *) p0;; esac')}`,
  )
}

const pieces = [
  ' ',
  '\n',
  ';',
  '|',
  '&',
  '(',
  ')',
  '`',
  "'",
  '"',
  '\\',
  '$',
  '#',
  '<',
  '{',
  '}',
  '!',
  '$(',
  '<<E\n',
  '&&',
  'p1',
  ' p1 ',
  '\\\n',
  '${',
  '$((',
  '))',
  "$'",
  '[',
  ']',
  ';;',
  ' esac ',
  ' in ',
  '=',
  '*',
  '-',
]

/** Every third line with a random piece at a random place, perhaps instead of a character. */
export function mutated(line: string, random: Random): string {
  if (random(3) > 0) return line
  const at = random(line.length + 1)
  return line.slice(0, at) + (pieces[random(pieces.length)] ?? '') + line.slice(at + random(2))
}
