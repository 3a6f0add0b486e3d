import { testSnippets } from './snippets.ts'

const page = `<!DOCTYPE html><html><head><title>T &amp; x</title><meta name="d" content="e"><link rel="x" href="y"><style>p{}</style><script>1</script></head><body class="c" id="i" style="x" data-z="1" onclick="f()"><!-- c --><header>H</header><nav>n</nav><h1>Head</h1><p>One <b>bold</b> <i>it</i> <a href="/x?y=1&amp;z=2" title="t" target="_blank">link</a></p><ul><li>a<li>b</ul><ol><li>1</li></ol><pre><code>x
  y</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><img src="a.png" alt="al"><br><hr><div><div></div><span>s</span></div><svg><path/></svg><iframe src="f"></iframe><noscript>no</noscript><footer>F</footer></body></html>`
const world = { files: { 'page.html': page }, helpers: `local PAGE = [==[${page}]==]\n` }

// the results of AIPack, except for what docs/compat.md lists
testSnippets(
  'html.slim',
  [
    ['return aip.html.slim(5)', '<body>5</body>'],
    ['return aip.html.slim("")', '<body></body>'],
    ['return aip.html.slim("just text")', '<body>just text</body>'],
    [
      'return aip.html.slim(PAGE)',
      `<!DOCTYPE html>
<head>
  <title>T & x</title>
</head>
<body class="c" id="i">
  <header>H</header>
  <nav>n</nav>
  <h1>Head</h1>
  <p>One <b>bold</b> <i>it</i>
    <a href="/x?y=1&amp;z=2" title="t">link</a>
  </p>
  <ul>
    <li>a</li>
    <li>b</li>
  </ul>
  <ol>
    <li>1</li>
  </ol>
  <pre><code>x
  y</code></pre>
  <table><tbody>
    <tr>
      <th>a</th>
      <th>b</th>
    </tr>
    <tr>
      <td>1</td>
      <td>2</td>
    </tr></tbody>
  </table>
  <img>
  <br>
  <hr>
  <div><span>s</span></div><iframe></iframe><noscript>no</noscript>
  <footer>F</footer>
</body>`,
    ],
    [
      'return aip.html.slim("<p>&lt;b&gt; &amp;amp; a &amp; b</p>")',
      '<body>\n  <p>&lt;b> &amp;amp; a & b</p>\n</body>',
    ],
    [
      'return aip.html.slim("<pre>a\\n\\n  b</pre>\\n\\n\\n<p>c</p>")',
      '<body>\n  <pre>a\n\n  b</pre>\n  <p>c</p>\n</body>',
    ],
    [
      `return aip.html.slim("<head><meta property='og:title' content='a&b' x=y><meta name=viewport></head>")`,
      '<head>\n  <meta content="a&amp;b" property="og:title">\n</head>\n<body></body>',
    ],
  ],
  world,
)

const markdown = `# T & x

H

n

## Head

One **bold** *it* [link](/x?y=1&z=2 "t")

- a
- b

1. 1

\`\`\`
x
  y
\`\`\`

| a | b |
| - | - |
| 1 | 2 |

![al](a.png)  \n
* * *

s

no

F`

testSnippets(
  'html.to_md',
  [
    ['return aip.html.to_md(PAGE)', markdown],
    ['return aip.file.load_html_as_md("page.html", {slim = false})', markdown],
    ['return aip.file.load_html_as_md("page.html")', markdown.replace('"t")', '"t") ').replace('![al](a.png)  ', '  ')],
    ['return aip.html.to_md("<p>&lt;a&gt; &amp; &nbsp; é</p>")', '\\<a> & \u00A0 é'],
    ['return aip.html.to_md("<i>c</i><i>c</i> text ")', '*cc* text'],
    ['return aip.html.to_md("<code>k</code><code>k</code>")', '`kk`'],
    ['return aip.html.to_md("<br><i>c</i><em>c</em><h2>h</h2> text ")', '  \n*cc*\n\n## h\n\ntext'],
    ['return aip.html.to_md("<span>s</span><div>d</div><i>c</i><i>c</i><div>d</div>")', 's\n\nd\n\n*cc*\n\nd'],
    ['return aip.html.to_md("<title>T</title><h1></h1><h6>deep</h6>")', '# T\n\n###### deep'],
    [
      'return aip.html.to_md("<p>1. a</p><p>- b</p><p># c</p><p>d _e_ [f] `g`</p>")',
      '1\\. a\n\n\\- b\n\n\\# c\n\nd \\_e\\_ \\[f\\] \\`g\\`',
    ],
    [
      'return aip.html.to_md("<table><tr><th>a</th><td>1</td></tr><tr><th>b</th><td>2</td></tr></table>")',
      '| a | 1 |\n| - | - |\n| b | 2 |',
    ],
    ['return aip.html.to_md("<p><noscript><img src=\'i.png\'></noscript>x</p>")', '![](i.png)x'],
    ['return aip.html.to_md("<blockquote><p>a</p><p>b</p></blockquote><blockquote></blockquote>")', '> a\n> \n> b'],
    [
      'return aip.html.to_md("<pre><code class=\'language-ts x\'>a\\n```\\nb\\n</code></pre>")',
      '````ts\na\n```\nb\n````',
    ],
  ],
  world,
)

testSnippets(
  'html.select',
  [
    ['return aip.html.select("<p>x", "body")', [{ tag: 'body', inner_html: '<p>x</p>', text: 'x' }]],
    ['return aip.html.select("<br><p>", "br")', [{ tag: 'br' }]],
    ['return #aip.html.select("<p>x</p>", "*")', 4],
    ['return #aip.html.select("<table><tr><td>x</table>", "tbody > tr")', 1],
    [
      `return aip.html.select("<input type=text disabled value=''>", "input")`,
      [{ tag: 'input', attrs: { disabled: '', type: 'text', value: '' } }],
    ],
    [
      'return aip.html.select("<p id=i class=b>1</p>", ":not(.b)")',
      [
        { tag: 'html', inner_html: '<head></head><body><p class="b" id="i">1</p></body>', text: '1' },
        { tag: 'head' },
        { tag: 'body', inner_html: '<p class="b" id="i">1</p>', text: '1' },
      ],
    ],
    ['return aip.html.select("<p>x", " ")', []],
  ],
  world,
)
