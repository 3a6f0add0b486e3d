import { expect, it } from 'vitest'
import { decodeHtmlEntities } from '../../src/base/html-entities.ts'

it.each([
  ['a &lt;b&gt; &amp;&quot;&apos;', 'a <b> &"\''],
  ['&nbsp;&eacute;&yuml;&szlig;', '\u00A0éÿß'],
  ['&Alpha;&Sigma;&Omega;&alpha;&sigmaf;&omega;', 'ΑΣΩας\u03C9'],
  ['&hellip;&euro;&rarr;&hearts;&thetasym;', '…€→♥ϑ'],
  ['&#65;&#x42;&#X1F600;', 'AB😀'],
  ['&amp;lt;', '&lt;'],
  ['&unknown; &; & &#; &#0; &#xD800; &#x110000; &lt', '&unknown; &; & &#; &#0; &#xD800; &#x110000; &lt'],
  ['', ''],
])('decodes %j', (text, expected) => {
  expect(decodeHtmlEntities(text)).toBe(expected)
})
