import { shapeOf } from './template-tags.ts'

/** So much is done in some tenths of a second: characters, and values that are looked at. */
const mostWork = 20_000_000
const mostTags = 500

/**
 * Whether a template may take longer than starting a thread does: expressions are read one by one, each may look at all
 * of the data, and a loop does what is in it for each value.
 */
export function isSlowTemplate(template: string, data: unknown): boolean {
  const { tags, loops } = shapeOf(template)
  if (tags > mostTags || template.length > mostWork / 100) return true
  const { values, characters } = sizeOf(data)
  return (template.length + tags * (values + characters / 1000)) * Math.max(1, values) ** loops > mostWork
}

/** Of data, as far as it matters. */
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
