import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempTree } from './temp.ts'
import { type CommandCall, createWarmCommand } from './warm-command.ts'

const entry = `
const { basename } = require('node:path')
const { runs } = require('./runs.cjs')
exports.run = main
exports.ended = main(process.argv.slice(2))
async function main([what, ...rest]) {
  runs.push(1)
  process.on('SIGINT', () => {})
  process.stdout.on('error', () => {})
  let input = ''
  for await (const piece of process.stdin) input += piece
  if (what === 'exit') process.exit(7)
  if (what === 'throw') throw new Error('broken')
  if (what === 'stay') setInterval(() => {}, 1000)
  if (what === 'fail') process.exitCode = 3
  const counts = [process.listenerCount('SIGINT'), process.stdout.listenerCount('error'), input.length, process.exitCode]
  console.log(JSON.stringify([what, ...rest, basename(process.cwd()), process.env.ONE ?? null, runs.length, ...counts]))
  console.error('said by ' + what)
}
`
const folder = tempTree({ 'entry.cjs': entry, 'runs.cjs': 'exports.runs = []\n', 'a/x': '', 'b/x': '' })
const command = join(folder, 'entry.cjs')

function call(cwd: string, args: readonly string[], env: CommandCall['env'] = {}): CommandCall {
  return { cwd: join(folder, cwd), args, env: { PATH: process.env['PATH'], ...env } }
}

it('runs a command again in the same process, without state of the run before', async () => {
  const warm = createWarmCommand(command)
  const ends = [
    await warm.run(call('a', ['fail', 'x y'], { ONE: '1' })),
    await warm.run({ ...call('b', ['second'], { ONE: undefined }), input: 'typed\n' }),
    await warm.run(call('b', ['third'])),
  ]
  await warm.end()
  expect(ends).toEqual([
    { code: 3, stdout: '["fail","x y","a","1",1,1,1,0,3]\n', stderr: 'said by fail\n' },
    { code: 0, stdout: '["second","b",null,2,1,1,6,null]\n', stderr: 'said by second\n' },
    { code: 0, stdout: '["third","b",null,3,1,1,0,null]\n', stderr: 'said by third\n' },
  ])
})

it('allows one run at a time', async () => {
  const warm = createWarmCommand(command)
  const first = warm.run(call('a', ['first']))
  expect(warm.run(call('a', ['second']))).toBeUndefined()
  await first
  expect(await warm.run(call('a', ['third']))).toMatchObject({ code: 0 })
  await warm.end()
})

it('returns the end of a run that ends its process, and continues in another one', async () => {
  const warm = createWarmCommand(command)
  expect(await warm.run(call('a', ['exit']))).toEqual({ code: 7, stdout: '', stderr: '' })
  expect(await warm.run(call('a', ['throw']))).toMatchObject({ code: 1, stderr: expect.stringContaining('broken') })
  expect(await warm.run(call('a', ['third']))).toMatchObject({ code: 0, stderr: 'said by third\n' })
  await warm.end()
})

it('detects a run that has left something open', async () => {
  const warm = createWarmCommand(command, { patienceMs: 300 })
  await warm.run(call('a', ['stay']))
  await expect(warm.end()).rejects.toThrow('a run has left something open')
})

it('rests with nothing open, and continues in the same process', async () => {
  const warm = createWarmCommand(command)
  await warm.run(call('a', ['first']))
  await warm.rest()
  expect((await warm.run(call('a', ['second'])))?.stdout).toMatch(/^\["second","a",null,2,/)
  await warm.end()
})

it('does not rest while something is open, which is named, and the next run is in another process', async () => {
  const warm = createWarmCommand(command, { patienceMs: 300 })
  await warm.run(call('a', ['stay']))
  await expect(warm.rest()).rejects.toThrow('a run has left something open: PipeWrap, PipeWrap, PipeWrap, Timeout')
  expect((await warm.run(call('a', ['second'])))?.stdout).toMatch(/^\["second","a",null,1,/)
  await warm.end()
})

it('ends and rests without a run', async () => {
  const warm = createWarmCommand(command)
  await expect(warm.rest()).resolves.toBeUndefined()
  await expect(warm.end()).resolves.toBeUndefined()
})
