import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startModelServer } from '../helpers/model-server.ts'
import { count } from './attempts.ts'
import { createWorld, expectHeld, type World, type WorldOptions } from './harness.ts'

/** Runs a prompt file whose model answers with `answers`, one for each time that it is asked. */
async function answered(
  { work, args = [], ...options }: WorldOptions & { readonly args?: readonly string[] },
  answers: readonly string[],
  prepare: (world: World) => void = () => undefined,
) {
  const server = await startModelServer((_, index) => ({ text: answers[Math.min(index, answers.length - 1)] ?? '' }))
  try {
    const world = createWorld({
      ...options,
      work: { '.git/HEAD': 'ref: refs/heads/main\n', 'ask.md': '+++\nwrite_mode = true\n+++\nDo it.\n', ...work },
      env: { BATON_GATEWAY_URL: server.url },
    })
    prepare(world)
    const end = await world.run(['ask.md', '-m', 'any', ...args])
    return { world, end, server }
  } finally {
    await server.close()
  }
}

/** An answer that writes a file. */
function writing(path: string, content = 'from the model\n'): string {
  return `<FILE_CHANGES>\n<FILE_NEW file_path="${path}">\n${content}</FILE_NEW>\n</FILE_CHANGES>\n`
}

/** Swaps folders of a world for links to its `outside` while `work` goes on. */
async function whileSwapping(paths: readonly string[], outside: string, work: () => Promise<void>): Promise<void> {
  const swapping = paths.map((path) => spawn(process.execPath, [join(import.meta.dirname, 'swap.mjs'), path, outside]))
  try {
    await Promise.all(swapping.map((child) => once(child.stdout, 'data')))
    await work()
  } finally {
    for (const child of swapping) child.kill('SIGKILL')
  }
}

describe('a folder that is swapped for a link while it is used leads nowhere else', () => {
  const name = 'a folder swapped for a link'

  it('for files that scripts write, add to, copy, move, delete and read', async () => {
    const world = createWorld({
      work: {
        '.git/HEAD': '',
        'a/b/old.txt': 'own',
        'race.lua': `
          local tried, seen = 0, {}
          local function try(f) tried = tried + 1; local ok, value = pcall(f); return ok and value end
          for i = 1, 700 do
            try(function() aip.file.save("a/b/new" .. i .. ".txt", "x") end)
            try(function() aip.file.save("a/b/deep" .. i .. "/new.txt", "x") end)
            try(function() aip.file.append("a/b/log.txt", "x") end)
            try(function() aip.file.append("a/b/precious.txt", "x") end)
            try(function() aip.file.copy("race.lua", "a/b/copy" .. i .. ".txt") end)
            try(function() aip.file.move("a/b/new" .. i .. ".txt", "a/b/moved" .. i .. ".txt") end)
            try(function() aip.file.delete("a/b/precious.txt") end)
            try(function() aip.file.delete("a/b/folder") end)
          end
          return tried`,
      },
      outside: { 'precious.txt': 'kept', 'folder/precious.txt': 'kept' },
    })
    await whileSwapping([join(world.work, 'a/b')], world.outside, async () => {
      const end = await world.run(['race.lua'])
      expectHeld(world, end, [0])
    })
    count(name, 5600)
  })

  it('for thousands of files of an answer', async () => {
    const files = Array.from({ length: 1500 }, (_, index) => `a/b/sub${index % 7}/file${index}.txt`)
    const answer = `<FILE_CHANGES>\n${files.map((path) => `<FILE_NEW file_path="${path}">\nx\n</FILE_NEW>\n`).join('')}</FILE_CHANGES>\n`
    const server = await startModelServer(() => ({ text: answer }))
    try {
      const world = createWorld({
        work: {
          '.git/HEAD': '',
          'a/b/old.txt': 'own',
          'ask.md': '+++\nwrite_mode = true\npartial = true\n+++\nDo it.\n',
        },
        outside: { 'precious.txt': 'kept' },
        env: { BATON_GATEWAY_URL: server.url },
      })
      await whileSwapping([join(world.work, 'a/b')], world.outside, async () => {
        const end = await world.run(['ask.md', '-m', 'any'])
        expectHeld(world, end, [0, 1])
      })
    } finally {
      await server.close()
    }
    count(name, files.length)
  })
})

describe('other names of a file are not written through', () => {
  it.each(['write', 'append', 'patch', 'transcript'])('by a %s', async (how) => {
    const answer = {
      write: writing('hard.txt'),
      append: '<FILE_CHANGES>\n<FILE_APPEND file_path="hard.txt">\nmore\n</FILE_APPEND>\n</FILE_CHANGES>\n',
      patch: '<FILE_CHANGES>\n<FILE_PATCH file_path="hard.txt">\n@@\n-kept\n+lost\n</FILE_PATCH>\n</FILE_CHANGES>\n',
      transcript: 'Only words.',
    }[how]
    const prompt = '+++\nwrite_mode = true\ncontext_globs = ["hard.txt"]\n+++\nDo it.\n\n====\n'
    const { world, end } = await answered(
      { outside: { 'hard.txt': 'kept\n', 'ask.md': prompt } },
      [answer ?? ''],
      ({ work, outside }) => {
        rmSync(join(work, 'ask.md'))
        for (const name of ['hard.txt', 'ask.md']) linkSync(join(outside, name), join(work, name))
      },
    )
    expectHeld(world, end, [0])
    const file = how === 'transcript' ? 'ask.md' : 'hard.txt'
    expect(readFileSync(join(world.work, file), 'utf8')).not.toBe(readFileSync(join(world.outside, file), 'utf8'))
  })
})
