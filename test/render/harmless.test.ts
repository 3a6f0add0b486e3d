import { describe, expect, it } from 'vitest'
import { createAnswerRenderer } from '../../src/render/answers.ts'
import { oneLine } from '../../src/render/format.ts'
import { harmless, withHarmlessText } from '../../src/render/harmless.ts'
import { createJsonRenderer, escapeControls } from '../../src/render/json.ts'
import { answer, started } from '../helpers/run-events.ts'

describe('text of others on a terminal', () => {
  it.each([
    ['plain\n\ttext äöü 日本 😀', 'plain\n\ttext äöü 日本 😀'],
    ['a\r\nb', 'a\nb'],
    ['\u001b[1;31mred\u001b[0m', 'red'],
    ['a\u001b[2Jb', 'a␛[2Jb'],
    ['\u001b]0;title\u0007', '␛]0;title␇'],
    ['\u001b]8;;https://x.example\u001b\\link', '␛]8;;https://x.example␛\\link'],
    ['over\rwritten\b', 'over␍written␈'],
    ['\u009b2J\u007f\0', '\ufffd2J␡␀'],
    ['user\u202e \u2066// admin\u2069', 'user\ufffd \ufffd// admin\ufffd'],
    // what is taken out leaves nothing behind that could be joined to something new
    ['\u001b\u001b[31m[2J', '␛[2J'],
  ])('%j becomes %j', (text, shown) => {
    expect(harmless(text)).toBe(shown)
    expect(harmless(shown)).toBe(shown)
  })

  it('is harmless wherever an event has it', () => {
    let text = ''
    const renderer = withHarmlessText(createAnswerRenderer((part) => (text += part)))
    renderer.event(started('prompt'))
    renderer.event({ ...answer(0, 'x\u001b[2J'), label: 'l\u0007' } as ReturnType<typeof answer>)
    expect(text).toBe('==> l␇ <==\nx␛[2J\n')
  })

  it('is one line in the live view, in one direction', () => {
    expect(oneLine('a\n\tb\u001b[2Jc\u0007\u202ed\u001b[31m', 20)).toBe('a b[2Jcd')
  })
})

it('shows JSON on a terminal with the same meaning and no control character', () => {
  let json = ''
  createJsonRenderer((text) => (json += text)).event(answer(0, 'a\u001b\u009b\u007f\u202e日'))
  const shown = escapeControls(json)
  expect(shown).toMatch(/^[^\p{Cc}\u202e]+\n$/u)
  expect(JSON.parse(shown)).toEqual(JSON.parse(json))
})
