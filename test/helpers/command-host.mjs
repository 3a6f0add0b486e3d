// Runs the entry file of the built command again and again in this one process, for warm-command.ts, which sends what to
// run. Runs do not overlap. Argument: the entry file.
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand } from './one-command.mjs'

const [, , command] = process.argv

process.on('message', (message) => void receive(message))

function receive(message) {
  if (message === 'end') return process.disconnect()
  return 'patienceMs' in message ? rest(message) : run(message)
}

/** The channel to the test and both streams. */
const usual = 'PipeWrap,PipeWrap,PipeWrap'

/** Sends the names of what runs have left open, once nothing is, or when the patience is over. */
async function rest({ patienceMs }) {
  const until = Date.now() + patienceMs
  for (;;) {
    const open = process.getActiveResourcesInfo().toSorted()
    const isUsual = open.join() === usual
    if (isUsual || Date.now() > until) return process.send(isUsual ? [] : open)
    await sleep(10)
  }
}

async function run({ end, ...call }) {
  const code = await runCommand(command, call)
  process.stdout.write(`${end}${code}\n`)
  process.stderr.write(`${end}\n`)
}
