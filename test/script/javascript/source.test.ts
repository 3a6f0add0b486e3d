import { expect, it } from 'vitest'
import { sourceOf } from '../../../src/script/javascript/source.ts'

it.each([
  ['line ends', '\n'],
  ['other line ends', '\r'],
  ['blanks', ' '],
])('the form of a program is detected in linear time after many %s', async (_, unit) => {
  const problem = { message: 'no', line: 1 }
  expect(await sourceOf(`${unit.repeat(300_000)}a b`, 'auto', () => problem)).toMatchObject({
    message: expect.any(String) as string,
  })
})

it('a program with an import that is not a script is a module', async () => {
  const asModule = await sourceOf('\n  export default 1', 'auto', (_, flags) =>
    flags === 1 ? undefined : { message: 'no' },
  )
  expect(asModule).toMatchObject({ flags: 1 })
})
