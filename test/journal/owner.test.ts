import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { processOwners, type Owner } from '../../src/journal/owner.ts'

const self = processOwners.self()
/** As on systems without /proc. */
const portable: Owner = {
  ...self,
  start: `epoch:${Math.round(Date.now() / 1000 - process.uptime())}`,
  boot: '',
}

describe.each([
  ['the own description', self],
  ['the description for systems without /proc', portable],
])('%s', (_, owner) => {
  it('is alive', async () => {
    expect(await processOwners.isAlive(owner)).toBe(true)
  })

  it('is dead when another process has its process number', async () => {
    const [type, start] = owner.start.split(':')
    expect(await processOwners.isAlive({ ...owner, start: `${type}:${Number(start) - 1000}` })).toBe(false)
  })

  it('is dead when the process is gone', async () => {
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'exit')
    expect(await processOwners.isAlive({ ...owner, pid: child.pid ?? 0 })).toBe(false)
  })
})

it.runIf(self.boot !== '')('is dead after the machine was restarted', async () => {
  expect(await processOwners.isAlive({ ...self, boot: 'an earlier one' })).toBe(false)
})

it.runIf(self.boot !== '')('is dead as a zombie', async () => {
  // the shell's child ends once the shell has become a program that never reaps it
  const child = `while [ "$(cat /proc/$PPID/comm)" != sleep ]; do :; done`
  const parent = spawn('sh', ['-c', `sh -c '${child}' & echo $!; exec sleep 60`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [output] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(output.toString())
  const start = await startOf(pid)
  expect(await processOwners.isAlive({ ...self, pid, start })).toBe(false)
})

async function startOf(pid: number): Promise<string> {
  const { readFileSync } = await import('node:fs')
  for (;;) {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z') return `ticks:${fields[19]}`
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
