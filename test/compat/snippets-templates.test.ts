import { testSnippets } from './snippets.ts'

const data = `{
  a = "x", n = 3, z = 0, u = "é", num = "10", l = {1, 2, 3}, m = {1, 2, 3}, e = {}, o = {k = "v", c = {d = 1}},
  t = true, f = false, items = {{name = "A", tags = {"p", "q"}, sub = {v = 1}}, {name = "B", tags = {}, sub = {v = 2}}},
}`
const helpers = `local data = ${data}\nlocal function R(template) return aip.hbs.render(template, data) end\n`

// the output of AIPack, whose templates are those of handlebars-rust
testSnippets(
  'values and steps up',
  [
    ['return R("{{foo}}[{{../a}}][{{../../a}}]")', '[x][x]'],
    ['return R("{{#each items}}{{name}}{{../a}} {{/each}}")', 'Ax Bx '],
    ['return R("{{#each items}}{{#each tags}}{{this}}{{../name}}{{../../a}} {{/each}}{{/each}}")', 'pAx qAx '],
    ['return R("{{#each items}}{{#with sub}}{{v}}{{../name}}{{../../a}}{{@index}} {{/with}}{{/each}}")', '1Ax0 2Bx1 '],
    ['return R("{{#if a}}{{../a}}{{/if}}")', 'x'],
  ],
  { helpers },
)

testSnippets(
  'with',
  [
    ['return R("{{#with o}}{{k}}{{../a}}{{/with}}{{#with o as |p|}}{{p.k}}{{/with}}")', 'vxv'],
    ['return R("{{#with e}}Y{{else}}N{{/with}}{{#with z}}Y{{else}}N{{/with}}{{#with missing}}Y{{/with}}")', 'NN'],
    ['return R("{{#with n}}{{this}}{{/with}}{{#with \'text\'}}{{this}}{{/with}}")', '3text'],
    ['return R("{{#with (lookup items 0)}}{{name}}{{/with}}")', 'A'],
  ],
  { helpers },
)

testSnippets(
  'comparisons',
  [
    ['return R("{{eq l m}} {{ne l m}} {{eq l e}} {{eq missing other}} {{eq n \'3\'}}")', 'true false false true false'],
    ["return R(\"{{#eq a 'x'}}Y{{else}}N{{/eq}}{{#eq a 'y'}}Y{{else}}N{{/eq}}{{#eq a 'y'}}Y{{/eq}}\")", 'YN'],
    ['return R("{{#gt n 2}}Y{{else}}N{{/gt}}{{#lte n 2}}Y{{else}}N{{/lte}}{{#ne a \'x\'}}Y{{else}}N{{/ne}}")', 'YNN'],
    ['return R("{{#and a t}}Y{{else}}N{{/and}}{{#or f z}}Y{{else}}N{{/or}}{{#not f}}Y{{else}}N{{/not}}")', 'YNY'],
    [
      'return R("{{gt num 9}} {{gt 9 num}} {{lt num \'9\'}} {{gt a 1}} {{gte l m}} {{gt t f}}")',
      'true false true false false true',
    ],
    ['return R("{{#if (and a (not f))}}Y{{/if}}{{#if (eq (len l) 3)}}Z{{/if}}{{and}}{{or}}")', 'YZtruefalse'],
    ['return R("{{len l}} {{len u}} {{len o}} {{len n}} {{len missing}}")', '3 2 2 0 0'],
    ['return R("{{#if z}}Y{{else}}N{{/if}}{{#if z includeZero=true}}Y{{/if}}{{#unless z}}U{{/unless}}")', 'NYU'],
  ],
  { helpers },
)

testSnippets(
  'calls that cannot work are errors',
  [
    ['return R("{{foo a=1}}")', /unknown helper "foo"/],
    ['return R("{{foo \'x\'}}")', /unknown helper "foo"/],
    ['return R("{{a b=1}}")', /unknown helper "a"/],
    ['return R("{{#foo a}}Y{{/foo}}")', /unknown helper "foo"/],
    ['return R("{{eq a}}")', /needs 2 values/],
    ['return R("{{len}}")', /needs a value/],
    ['return R("{{#if}}Y{{/if}}")', /needs a value/],
  ],
  { helpers },
)
