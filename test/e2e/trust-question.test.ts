import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'

const box = '[providers.box]\nbase_url = "http://127.0.0.1:9/v1"\n'
const files = {
  '.git/HEAD': '',
  'baton.toml': box,
  'ask.md': '+++\nmodel = "offline::extractive"\ngateway = { base_url = "http://127.0.0.1:9/v1" }\n+++\nHello.\n',
  'keyed/baton.toml': `${box}api_key_env = "BOX_KEY"\n`,
  'keyed/hello.aip': '# Output\n\n```lua\nreturn "hello"\n```\n',
  'keyed/.git/HEAD': '',
}

/** Returns the text on the terminal, and the number of questions. Each question gets the next answer. */
async function answered(command: string, answers: readonly string[]): Promise<{ text: string; questions: number }> {
  let questions = 0
  const { output } = await inTerminal(command, {
    cwd: tempTree(files),
    onScreen: (terminal, type) => {
      const asked = terminal.everything().join('\n').split('[y/N]').length - 1
      for (; questions < asked; questions += 1) type(`${answers[questions] ?? ''}\n`)
    },
  })
  // on a slow machine the live view is drawn and cleared before the next line
  return { text: stripVTControlCharacters(output).replaceAll('\r', ''), questions }
}

it('a run on a terminal asks for missing trust, and continues when it is given', async () => {
  const { text, questions } = await answered(
    'baton ask.md --output no.txt; echo "exit $?"; ls; baton ask.md --output yes.txt; echo "exit $?"; ls; baton trust; baton ask.md',
    ['n', 'y'],
  )
  expect(questions).toBe(2)
  expect(text).toContain('trust baton.toml (providers) and ask.md (gateway) with this content? [y/N] n\nexit 6\n')
  expect(text).toContain('trust baton.toml (providers) and ask.md (gateway) with this content? [y/N] y\n')
  expect(text.match(/^exit 0$/gm)).toHaveLength(1)
  expect(text).toMatch(/exit 6\nask\.md\s+baton\.toml\s+keyed\n/)
  expect(text).toContain('ask.md: gateway\nbaton.toml: providers\n')
})

it('a run does not ask if trust is of no use, nor with --no-input', async () => {
  const { text, questions } = await answered(
    'baton ask.md --no-input; echo "exit $?"; cd keyed; baton hello.aip; echo "exit $?"',
    ['y'],
  )
  expect(questions).toBe(0)
  expect(text.match(/^exit 6$/gm)).toHaveLength(2)
})
