import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { fileModule } from '../../../src/script/host/file.ts'
import { htmlModule } from '../../../src/script/host/html.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const page = `<!DOCTYPE html>
<html>
<head><title>A &amp; B</title><script>alert('x')</script><style>p {}</style><meta charset="utf-8"></head>
<body onload="x()">
  <div class="content" style="color: red" aria-label="main">Hello World</div>
  <!-- comment -->
  <p>One <b>two</b>
     <a href="?a=1&amp;b=2" target="_blank">three</a><br>four <svg><path d="M0"/></svg></p>
  <div><span></span></div>
  <pre>  kept
    lines</pre>
  <ul><li>ü<li>two<p>para</p></ul>
</body>
</html>`
const workspace = tempTree({ 'docs/page.html': page, 'empty.html': '' })
const host = hostSection(workspace)

function html(name: string, ...args: readonly LuaValue[]): Promise<LuaValue> {
  return host.wait(htmlModule, name, ...args)
}

function file(name: string, ...args: readonly LuaValue[]): Promise<LuaValue> {
  return host.wait(fileModule, name, ...args)
}

function saved(path: string): string {
  return readFileSync(join(workspace, path), 'utf8')
}

const slim = `<!DOCTYPE html>
<head>
  <title>A & B</title>
</head>
<body>
  <div aria-label="main" class="content">Hello World</div>
  <p>One <b>two</b>
    <a href="?a=1&amp;b=2">three</a>
    <br>four 
  </p>
  <pre>  kept
    lines</pre>
  <ul>
    <li>ü</li>
    <li>two
      <p>para</p>
    </li>
  </ul>
</body>`

describe('aip.html.slim', () => {
  it('keeps the visible content, one block on each line', async () => {
    expect(await html('slim', page)).toBe(slim)
    expect(await html('prune_to_content', page)).toBe(slim)
    expect(await html('slim', slim)).toBe(slim)
  })

  it('accepts any text', async () => {
    expect(await html('slim', '')).toBe('<body></body>')
    expect(await html('slim', 'a < b & c')).toBe('<body>a < b & c</body>')
    expect(await html('slim', '<p>a<p>b</i><q class="a>b">c')).toBe(
      '<body>\n  <p>a</p>\n  <p>b<q class="a&gt;b">c</q></p>\n</body>',
    )
    await expect(html('slim', undefined)).rejects.toThrow('aip.html.slim: the HTML must be a string, but was nil')
  })

  it('handles large pages', async () => {
    const rows = '<tr><td>cell</td></tr>'.repeat(20_000)
    expect(String(await html('slim', `<table>${rows}</table>`)).split('\n')).toHaveLength(60_004)
  })
})

describe('aip.html.select', () => {
  it('refuses excessively complex selectors', async () => {
    const refused = html('select', '<p>a</p>', '[[a](b'.repeat(100_000))
    await expect(refused).rejects.toThrow(
      /^aip\.html\.select: cannot select "(?:\[\[a\]\(b){33}…": the selectors have more than 8192 characters$/,
    )
    expect(await html('select', '<p>a</p>', `p, ${'b '.repeat(4000)}`)).toMatchObject([{ tag: 'p' }])
  })
})

describe('aip.html.to_md', () => {
  it('writes Markdown (vector 80)', async () => {
    const source = '<h1>Title</h1><p>Some <strong>bold</strong> text.</p><ul><li>Item 1</li><li>Item 2</li></ul>'
    expect(await html('to_md', source)).toBe('# Title\n\nSome **bold** text.\n\n- Item 1\n- Item 2')
    expect(await html('to_md', '')).toBe('')
  })

  it('nests and numbers lists', async () => {
    const source = '<ol start="9"><li>nine</li><li>ten<ul><li>a</li><li><p>b</p><p>c</p></li></ul></li></ol>'
    expect(await html('to_md', source)).toBe('9.  nine\n10. ten\n    - a\n    - b\n\n      c')
  })

  it('writes tables, code, links and images, and omits scripts', async () => {
    expect(
      await html(
        'to_md',
        '<table><thead><tr><th>a</th><th>b|c</th></tr></thead><tr><td>1<br>2</td><td></td></tr></table>',
      ),
    ).toBe('| a     | b&#124;c |\n| ----- | --- |\n| 1   2 |     |')
    expect(await html('to_md', '<table><tr><td>1</td></tr><tr><td>2</td></tr></table>')).toBe('1\n\n2')
    expect(await html('to_md', '<pre><code class="language-ts">a\n  b</code></pre><hr>')).toBe(
      '```ts\na\n  b\n```\n\n* * *',
    )
    expect(await html('to_md', '<a href="u">l</a> <img src="i.png" alt="p"> <em>e</em><script>s</script>')).toBe(
      '[l](u) ![p](i.png) *e*',
    )
    await expect(html('to_md', {})).rejects.toThrow('the HTML must be a string or nil, but was table')
  })
})

describe('deeply nested pages', () => {
  it('are supported as deep as in browsers, and fail beyond', async () => {
    const deep = (levels: number): string => `${'<div>'.repeat(levels)}end`
    expect(await html('slim', deep(500))).toContain('end')
    expect(await html('to_md', deep(500))).toBe('end')
    expect(await html('select', deep(500), 'div')).toHaveLength(500)
    const message = 'the HTML nests elements deeper than 512 levels'
    await expect(html('slim', deep(5_000))).rejects.toThrow(message)
    await expect(html('to_md', deep(5_000))).rejects.toThrow(message)
    await expect(html('select', deep(5_000), 'div')).rejects.toThrow(message)
  })
})

describe('aip.html.select', () => {
  const source = `
    <div>First div<div>
    <li class="me">Bullet One </li>
    <section><p>Some text</p>
      <DIV class="me other " TITLE = " Some Title" > Div <strong>Two </strong></DIV>
    </section>`

  it('returns tag, attributes and content of elements (vector 81)', async () => {
    expect(await html('select', source, '.me')).toEqual([
      { tag: 'li', attrs: { class: 'me' }, text: 'Bullet One', inner_html: 'Bullet One' },
      {
        tag: 'div',
        attrs: { class: 'me other ', title: ' Some Title' },
        text: 'Div Two',
        inner_html: 'Div <strong>Two </strong>',
      },
    ])
  })

  it('returns each element once, in document order', async () => {
    const tags = (await html('select', source, ['strong', 'p, .me', 'li'])) as { readonly tag: string }[]
    expect(tags.map(({ tag }) => tag)).toEqual(['li', 'p', 'div', 'strong'])
    expect(await html('select', '<p>ä &lt; b</p>', 'p')).toEqual([
      { tag: 'p', attrs: undefined, text: 'ä < b', inner_html: 'ä &lt; b' },
    ])
  })

  it('returns an empty list without selectors or matches', async () => {
    expect(await html('select', source, undefined)).toEqual([])
    expect(await html('select', source, [])).toEqual([])
    expect(await html('select', '', 'p')).toEqual([])
    expect(await runLua(host, 'return #aip.html.select("<p>x</p>", "a")')).toBe(0)
  })

  it('refuses a bad selector', async () => {
    await expect(html('select', source, ['p', 'a['])).rejects.toThrow('aip.html.select: cannot select "p, a["')
    await expect(html('select', source, 5)).rejects.toThrow('the selectors must be a string or a list of strings')
    await expect(html('select', undefined, 'p')).rejects.toThrow('the HTML must be a string, but was nil')
  })
})

describe('aip.file and HTML', () => {
  it('loads a page reduced, or as Markdown', async () => {
    expect(await file('load_html_as_slim', 'docs/page.html')).toBe(slim)
    const markdown = String(await file('load_html_as_md', 'docs/page.html'))
    expect(markdown).toContain('Hello World\n\nOne **two** [three](?a=1&b=2)')
    expect(await file('load_html_as_md', 'docs/page.html', { slim: false })).toContain('Hello World')
    expect(await file('load_html_as_md', 'empty.html', { trim: true })).toBe('')
  })

  it('saves next to the page, under a path, or where the options say', async () => {
    expect(await file('save_html_to_slim', 'docs/page.html')).toMatchObject({
      path: 'docs/page-slim.html',
      ext: 'html',
    })
    expect(saved('docs/page-slim.html')).toBe(slim)
    expect(await file('save_html_to_md', 'docs/page.html')).toMatchObject({ path: 'docs/page.md', _type: 'FileInfo' })
    expect(saved('docs/page.md')).toBe(await file('load_html_as_md', 'docs/page.html'))

    const paths = [
      await file('save_html_to_md', 'docs/page.html', 'out/a.md'),
      await file('save_html_to_md', 'docs/page.html', { base_dir: 'out' }),
      await file('save_html_to_md', 'docs/page.html', { suffix: '-b', slim: false }),
      await file('save_html_to_slim', 'docs/page.html', { base_dir: 'out' }),
      await file('save_html_to_slim', 'docs/page.html', { file_name: 'x.htm' }),
      await file('save_html_to_slim', 'docs/page.html', {}),
      await file('save_html_to_slim', 'empty.html', { suffix: '_s' }),
    ].map((info) => (info as { readonly path: string }).path)
    expect(paths).toEqual([
      'out/a.md',
      'out/page.md',
      'docs/page-b.md',
      'out/page.html',
      'docs/x.htm',
      'docs/page-slim.html',
      'empty_s.html',
    ])
  })

  it('writes only where scripts may write', async () => {
    await expect(file('save_html_to_md', 'docs/page.html', '../x.md')).rejects.toThrow('outside the workspace')
    await expect(file('save_html_to_slim', 'docs/page.html', { base_dir: '.git' })).rejects.toThrow('belongs to git')
    await expect(file('save_html_to_md', 'missing.html')).rejects.toThrow('there is no file missing.html')
    await expect(file('save_html_to_md', '/')).rejects.toThrow('/ is not the path of a file')
    await expect(file('load_html_as_md', undefined)).rejects.toThrow('the path must be a string, but was nil')
    await expect(file('load_html_as_md', 'docs/page.html', 'x')).rejects.toThrow('the options must be a table')
  })
})
