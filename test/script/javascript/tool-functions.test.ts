import { describe, expect, it, onTestFinished } from 'vitest'
import { createJavaScriptBox } from '../../../src/script/javascript/box.ts'
import { tryProgram } from '../../helpers/try-program.ts'
import { functionName, isFreeName, toolFunctions } from '../../../src/script/javascript/tool-functions.ts'

function namesOf(tools: readonly string[], others: readonly string[] = []): readonly string[] {
  return toolFunctions(
    tools.map((name) => ({ name })),
    others,
  ).functions.map(({ name }) => name)
}

describe('tools as functions', () => {
  it.each([
    ['trigger.create', 'triggerCreate'],
    ['weather.get-weather', 'weatherGetWeather'],
    ['todo.list_all', 'todoListAll'],
    ['list_all', 'listAll'],
    ['server__tool', 'serverTool'],
    ['read', 'read'],
  ])('have the name of %s in camelCase', (tool, name) => {
    expect(functionName(tool)).toBe(name)
  })

  it('are only in tools if the name is that of another tool, of the box, of the language, or invalid', () => {
    expect(namesOf(['a.b', 'a_b', 'c'])).toEqual(['tools.a.b', 'tools.a_b', 'c'])
    expect(namesOf(['output', 'recall'], ['output'])).toEqual(['tools.output', 'recall'])
    expect(namesOf(['parallel', 'tools', 'delete', 'JSON', '2d', 'a b'])).toEqual(
      ['parallel', 'tools', 'delete', 'JSON', '2d', 'a b'].map((name) => `tools.${name}`),
    )
  })

  it('never have a name that programs already use', async () => {
    const box = createJavaScriptBox()
    onTestFinished(async () => box.close())
    const end = await tryProgram(box, 'Object.getOwnPropertyNames(globalThis)')
    if (end.kind === 'error') throw new Error(end.message)
    expect((end.value as readonly string[]).filter(isFreeName)).toEqual([])
  })

  it('are found by the name of the function', () => {
    const { functions, toolOf } = toolFunctions([{ name: 'a.b' }, { name: 'a_b' }, { name: 'list_all' }])
    expect(functions.map(({ name, id }) => [name, id])).toEqual([
      ['tools.a.b', 'a.b'],
      ['tools.a_b', 'a_b'],
      ['listAll', 'list_all'],
    ])
    expect(functions.map(({ name }) => toolOf(name)?.name)).toEqual(['a.b', 'a_b', 'list_all'])
    expect(toolOf('list_all')).toBe(undefined)
  })
})
