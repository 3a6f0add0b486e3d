// Runs the entry file of the built command again and again in this one process, for warm-command.ts, which sends what to
// run. Runs do not overlap. Argument: the entry file.
import { runCommand } from './one-command.mjs'

const [, , command] = process.argv

process.on('message', (message) => void (message === 'end' ? process.disconnect() : run(message)))

async function run({ end, ...call }) {
  const code = await runCommand(command, call)
  process.stdout.write(`${end}${code}\n`)
  process.stderr.write(`${end}\n`)
}
