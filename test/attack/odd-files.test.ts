import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { attack } from './attempts.ts'
import { createWorld, expectHeld, type Files } from './harness.ts'

/** Something in place of a file that would block or be read forever. */
interface Kind {
  readonly said: RegExp
  /** Creates one at a path, and returns the function that removes it. */
  readonly make: (path: string) => Promise<() => void>
}

const kinds: Readonly<Record<string, Kind>> = {
  'a named pipe': {
    said: /is a named pipe and not a regular file/,
    make(path) {
      execFileSync('mkfifo', [path])
      return Promise.resolve(() => undefined)
    },
  },
  'a socket': {
    said: /is a socket and not a regular file/,
    async make(path) {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(path, resolve))
      return () => void server.close()
    },
  },
  // only root can create one
  'a link to a device': {
    said: /belongs to the system|is a device and not a regular file|leads outside the workspace through the link/,
    make(path) {
      symlinkSync('/dev/zero', path)
      return Promise.resolve(() => undefined)
    },
  },
}

const pack = '[pack]\nnamespace = "a"\nname = "b"\nversion = "1.0.0"\n'
const work: Files = {
  '.baton/packs/a/b/main.lua': 'return "x"',
  '.baton/packs/c/d/pack.toml': pack,
  'answers.md': '+++\nagent = "odd"\n+++\nDo it.\n',
  'chained.md': '+++\nsub_agents = ["odd.lua"]\n+++\nDo it.\n',
  'hello.lua': 'return "hello"',
  'plain.md': 'Do it.\n',
  'works.md': '+++\nworking_globs = ["odd"]\n+++\nDo it.\n',
}

/** Its path, and the command that reads it. */
const places: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  'the prompt file': ['odd.md', ['odd.md']],
  'the prompt file without an ending': ['odd', ['odd']],
  'the prompt file that is checked': ['odd.md', ['check', 'odd.md']],
  'the agent that is run': ['odd.aip', ['odd.aip']],
  'the agent that is run by its name': ['odd.lua', ['./odd']],
  'an agent of a chain': ['odd.lua', ['chained.md']],
  'the agent that answers': ['odd/main.aip', ['answers.md']],
  'the agent of a pack': ['.baton/packs/c/d/main.aip', ['c@d']],
  'the pack.toml of a pack': ['.baton/packs/a/b/pack.toml', ['a@b']],
  'the file of --env': ['keys.env', ['hello.lua', '--env', 'keys.env']],
  'a file of -f': ['odd', ['plain.md', '-m', 'offline::extractive', '-f', 'odd']],
  'a file of -f in a folder': ['src/odd', ['plain.md', '-m', 'offline::extractive', '-f', 'src/odd']],
  'a file of -f for an agent': ['odd', ['hello.lua', '-f', 'odd']],
  'a file to work on': ['odd', ['works.md', '-m', 'offline::extractive']],
}

const attempts = Object.entries(places).flatMap(([where, [path, args]]) =>
  Object.entries(kinds).map(([what, kind]) => [`${what} as ${where}`, { path, args, kind }] as const),
)

attack(
  'what is no regular file is named, and not waited for',
  { core: Object.fromEntries(attempts), every: 4 },
  async ({ path, args, kind }) => {
    const world = createWorld({ work })
    const odd = join(world.work, path)
    mkdirSync(dirname(odd), { recursive: true })
    const remove = await kind.make(odd)
    try {
      const end = await world.run(args)
      expectHeld(world, end, [2])
      expect(`${end.stderr}${end.stdout}`).toMatch(kind.said)
    } finally {
      remove()
    }
  },
)

attack(
  'what is no regular file is left out of the prompt, with a warning',
  { core: { 'a named pipe': kinds['a named pipe'], 'a socket': kinds['a socket'] } },
  async (kind) => {
    const prompt = '+++\ncontext_globs = ["odd", "*.txt"]\n+++\nDo it.\n'
    const world = createWorld({ work: { 'ask.md': prompt, 'a.txt': 'Do it once.' } })
    const remove = await kind?.make(join(world.work, 'odd'))
    try {
      const end = await world.run(['ask.md', '-m', 'offline::extractive'])
      expectHeld(world, end, [0])
      expect(end.stderr).toMatch(/left out of the prompt: odd is a (?:named pipe|socket) and not a regular file/)
      expect(end.stdout).toContain('the 1 given file')
    } finally {
      remove?.()
    }
  },
)
