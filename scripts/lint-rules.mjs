// Lint rules of this repository, loaded by .oxlintrc.json.

/**
 * `toMatchObject` of vitest compares only the own keys of an expected object: a regular expression, a URL and `{}` have none, so that
 * they match every value. `{}` in a list is one more element, and behind `...` it is nothing.
 */
const matchByKeys = {
  create(context) {
    return {
      CallExpression({ callee, arguments: expected }) {
        if (callee.type !== 'MemberExpression' || callee.property.name !== 'toMatchObject') return
        for (const node of expected.flatMap((value) => valuesWithoutKeys(value, context))) {
          const message = 'This matches every value, because toMatchObject compares only the keys of an object.'
          context.report({ node, message: `${message} Use expect.stringMatching(…), or toEqual.` })
        }
      },
    }
  },
}

function valuesWithoutKeys(node, context) {
  const inside = (nodes) => nodes.flatMap((value) => valuesWithoutKeys(value, context))
  switch (node?.type) {
    case 'ObjectExpression':
      return node.properties.length === 0
        ? [node]
        : inside(node.properties.map((property) => property.value ?? property))
    case 'ArrayExpression':
      return inside(node.elements.filter((element) => element?.properties?.length !== 0))
    case 'SpreadElement':
      return inside([node.argument]).filter((value) => value.properties?.length !== 0)
    case 'ConditionalExpression':
      return inside([node.consequent, node.alternate])
    case 'LogicalExpression':
      return inside([node.left, node.right])
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
    case 'TSNonNullExpression':
      return inside([node.expression])
    case 'Literal':
      return node.regex ? [node] : []
    case 'NewExpression':
      return ['RegExp', 'URL'].includes(node.callee.name) ? [node] : []
    case 'CallExpression':
      return node.callee.name === 'RegExp' ? [node] : []
    case 'Identifier':
      return inside([valueOfConstant(node, context)]).length > 0 ? [node] : []
    default:
      return []
  }
}

function valueOfConstant(node, { sourceCode }) {
  for (let scope = sourceCode.getScope(node); scope; scope = scope.upper) {
    const definition = scope.set.get(node.name)?.defs[0]
    if (definition === undefined) continue
    const isConstant = definition.type === 'Variable' && definition.parent.kind === 'const'
    return isConstant && definition.node.id.type === 'Identifier' ? definition.node.init : undefined
  }
  return undefined
}

/** `vi.waitFor` and `vi.waitUntil` give up after a second, which a busy machine needs for anything. */
const patientWait = {
  create(context) {
    return {
      CallExpression(node) {
        const { callee, arguments: given } = node
        if (callee.type !== 'MemberExpression' || callee.object.name !== 'vi' || given.length !== 1) return
        if (callee.property.name !== 'waitFor' && callee.property.name !== 'waitUntil') return
        context.report({ node, message: 'This waits for one second only. Use expect.poll, or give a timeout.' })
      },
    }
  },
}

const plugin = { meta: { name: 'baton' }, rules: { 'match-by-keys': matchByKeys, 'patient-wait': patientWait } }
export default plugin
