import { shapeOf } from './template-tags.ts'

/** Work that takes some tenths of a second, in characters and visited values. */
const mostWork = 20_000_000
const mostTags = 500

/**
 * Whether a template may take longer than starting a thread: expressions are evaluated one by one, each may visit all
 * of the data, and a loop repeats its body for each value.
 */
export function isSlowTemplate(template: string, data: unknown): boolean {
  const { tags, loops } = shapeOf(template)
  if (tags > mostTags || template.length > mostWork / 100) return true
  const { values, characters } = sizeOf(data)
  return (template.length + tags * (values + characters / 1000)) * Math.max(1, values) ** loops > mostWork
}

/** The size of the data, up to the limit. */
function sizeOf(data: unknown): { readonly values: number; readonly characters: number } {
  let [values, characters] = [0, 0]
  const open: unknown[] = [data]
  while (open.length > 0 && values < mostWork) {
    const value = open.pop()
    values += 1
    if (typeof value === 'string') characters += value.length
    else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) open.push(item)
  }
  return { values, characters }
}
