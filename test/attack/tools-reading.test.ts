import { execFileSync } from 'node:child_process'
import { symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { findProgram } from '../../src/base/program.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'
import { attack } from './attempts.ts'
import { createWorld, expectHeld, type Files, type World } from './harness.ts'

// A model that requests what it must not get, or more than there is time for. It is told so, and the run continues.

const secret = 'the-words-that-nobody-may-see'
const work: Files = {
  'ask.md': '+++\nmodel = "m"\ntools = ["read", "glob", "grep"]\n+++\nLook.\n',
  'a.txt': 'one\ntwo\n',
  '.env': secret,
  'deploy/id_ed25519': secret,
  'long.txt': `${'a'.repeat(20_000)}!\n`,
  'log.txt': 'first line\n',
  'many/\u001b[2Jodd\nname': 'one\n',
  ...Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`many/f${index}.txt`, `text ${index}\n`])),
}
const outside: Files = { 'secret.txt': secret }

interface Attempt {
  readonly calls: readonly (readonly [tool: string, input: JsonObject | string])[]
  /** The result of each call. */
  readonly gives: RegExp
  readonly prepare?: (world: World) => void
  readonly env?: Readonly<Record<string, string>>
}

const read = (path: string, more: JsonObject = {}) => ['read', { path, ...more }] as const
const grep = (pattern: string, more: JsonObject = {}) => ['grep', { pattern, ...more }] as const
const denied = /^Error: permission denied: /
const linked = (world: World): void => symlinkSync(world.outside, join(world.work, 'out'))
const hasRipgrep = findProgram('rg', { PATH: process.env['PATH'] }, '/nowhere') !== undefined
const withoutRipgrep = { PATH: '/nowhere' }

const core: Readonly<Record<string, Attempt>> = {
  'paths that lead out': { calls: [read('../../etc/passwd'), read('/etc/passwd'), read('/')], gives: denied },
  'files with keys': {
    calls: [read('.env'), read('./many/../.env'), read('deploy/id_ed25519'), grep('words', { path: '.env' })],
    gives: denied,
  },
  'files with keys, by a search': {
    calls: [grep('words'), grep('words', { glob: '.env', output: 'files' }), ['glob', { pattern: '**/.env' }]],
    gives: /^\[(?:nothing matches|no file matches)\]$/,
  },
  'a link that leads out': {
    calls: [read('out/secret.txt'), read('out'), grep('words', { path: 'out' }), ['glob', { pattern: 'out/*' }]],
    gives: denied,
    prepare: linked,
  },
  'a link that leads out, by a search': {
    calls: [grep('words'), ['glob', { pattern: '**/secret*' }]],
    gives: /^\[(?:nothing matches|no file matches)\]$/,
    prepare: linked,
  },
  'the environment of the process': { calls: [read('/proc/self/environ'), read('/dev/zero')], gives: denied },
  'a gigabyte of nothing': {
    calls: [read('a.txt')],
    gives: /a\.txt is binary \(no text, 1gb\)/,
    prepare: ({ work: folder }) => {
      truncateSync(join(folder, 'a.txt'), 0)
      truncateSync(join(folder, 'a.txt'), 1024 ** 3)
    },
  },
  'a named pipe': {
    calls: [read('pipe'), grep('x', { path: 'pipe' })],
    gives: /pipe is a device or pipe, not a file/,
    prepare: ({ work: folder }) => void execFileSync('mkfifo', [join(folder, 'pipe')]),
  },
  'a named pipe, by a search': {
    calls: [grep('no such words')],
    gives: /^\[nothing matches\]$/,
    prepare: ({ work: folder }) => void execFileSync('mkfifo', [join(folder, 'pipe')]),
  },
  'a file as a folder, and nothing': {
    calls: [read('a.txt/b'), read('none')],
    gives: /there is no file (?:a\.txt\/b|none)/,
  },
  'names with controls': {
    calls: [
      read('many', { limit: 1 }),
      ['glob', { pattern: 'many/*odd*' }],
      grep('one', { path: 'many', output: 'files' }),
    ],
    gives: /"(?:many\/)?\\u001b\[2Jodd\\nname"/,
  },
  'a path with a NUL byte': { calls: [read('a\0b')], gives: /^Error: .*null bytes/ },
  'expressions that try all ways': {
    calls: [grep('(a+)+$'), ...(hasRipgrep ? [grep('(a|aa)+$')] : [])],
    gives: /^\[nothing matches\]$/,
  },
  'an expression that tries all ways, without ripgrep': {
    calls: [grep('(a+)+$')],
    gives: /^\[nothing matches\]$/,
    env: withoutRipgrep,
  },
  'expressions and globs that are none': {
    calls: [grep('(a'), grep('(?=a)'), ['glob', { pattern: '[x' }], ['glob', { pattern: '{'.repeat(9000) }]],
    gives: /^Error: /,
  },
  '500 calls in one answer': {
    calls: Array.from({ length: 500 }, (_, index) => read(`many/f${index}.txt`)),
    gives: /^1\ttext \d+$/,
  },
}

const more = (): Readonly<Record<string, Attempt>> => ({
  'an expression that takes for ever, without ripgrep': {
    calls: [grep('(a|aa)+$')],
    gives: /the search was stopped after 30 seconds/,
    env: withoutRipgrep,
  },
})

attack(
  'a model that asks for what it may not have is told so, and the run goes on',
  { core, more },
  async ({ calls, gives, prepare, env = {} }) => {
    const model = await startToolModel([callsTools(...calls), { text: 'Done.' }])
    const world = createWorld({ work, outside, env: { BATON_GATEWAY_URL: model.url, ...env } })
    prepare?.(world)
    const end = await world.run(['ask.md'])
    expectHeld(world, end, [0])
    expect(end.stdout).toBe('Done.\n')
    const results = model.results()
    expect(results.length).toBe(calls.length)
    for (const result of results) expect(result).toMatch(gives)
    expect(results.join('\n')).not.toContain(secret)
  },
)
