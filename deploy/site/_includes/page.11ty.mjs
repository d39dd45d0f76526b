/** A page: the menu, the search, the document. */

import { posix } from 'node:path'
import { fileOf, menu } from '../pages.mjs'

export function render({ content, document, title, titles }) {
  const from = posix.dirname(document)
  const to = file => posix.relative(from, file)
  const entry = page => {
    const current = page === document ? ' aria-current="page"' : ''
    return `<li><a href="${to(fileOf(page))}"${current}>${escaped(titles.get(page))}</a></li>`
  }
  const groups = menu.map(
    ({ name, pages }) => `<h2>${name}</h2><ul>${pages.map(entry).join('')}</ul>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}${title === 'Watchglass' ? '' : ' - Watchglass'}</title>
<link rel="stylesheet" href="${to('site.css')}">
<script defer src="${to('search-index.js')}"></script>
<script defer src="${to('search.js')}" data-root="${to('.') || '.'}"></script>
</head>
<body>
<a class="skip" href="#main">To the text</a>
<nav aria-label="Pages">
<label for="search">Search</label>
<input id="search" type="search" autocomplete="off">
<ol id="found" aria-live="polite"></ol>
<details open><summary>Pages</summary>${groups.join('')}</details>
</nav>
<main id="main">
${content}
</main>
</body>
</html>
`
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
