import { describe, expect, it } from 'vitest'
import { xmlFault } from '../../src/base/xml-form.ts'

describe('well-formed XML', () => {
  it.each([
    '<?xml version="1.0"?><a b="1>2" c=\'"\'><!-- <a> --><b/><![CDATA[<c>]]>text &amp; more</a>\n',
    '<a><b></b><b/></a>',
    '',
    `${'<a>'.repeat(1000)}${'</a>'.repeat(1000)}`,
  ])('includes %s', (text) => {
    expect(xmlFault(text)).toBeUndefined()
  })

  it.each([
    ['<!DOCTYPE a><a/>', 'has a document type, which is not supported'],
    ['<a><!-- </a>', 'has markup at character 3 that is not closed'],
    ['<a><![CDATA[ </a>', 'has markup at character 3 that is not closed'],
    ['<a b="></a>', 'has markup at character 0 that is not closed'],
    ['<a <b></a>', 'has markup at character 0 that is not closed'],
    ['<a></a></a>', 'closes an element at character 7 that is not open'],
    ['<a><b></a>', 'ends before its elements are closed'],
    ['<a>'.repeat(1001), 'is nested deeper than 1000 levels'],
  ])('does not include %s', (text, fault) => {
    expect(xmlFault(text)).toBe(fault)
  })
})
