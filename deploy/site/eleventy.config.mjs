/** The site: `npm run docs` writes it to .cache/site, as plain pages that also work from a folder,
 *  without a server. The build fails when a link leads nowhere, or when a document of docs/ has no
 *  page. Eleventy was chosen in November 2026: 117 packages and 23 MB, plain HTML that opens from a folder, and a search of ours
 *  in 50 lines. VitePress (125 packages, 102 MB) and Astro Starlight (264, 183 MB) need a server to be looked at. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { fileOf, menu } from './pages.mjs'

const documents = menu.flatMap(({ pages }) => pages)

// oxlint-disable-next-line import/no-default-export -- Eleventy takes nothing else.
export default function site(config) {
  const missing = readdirSync('docs')
    .filter(name => name.endsWith('.md') && !documents.includes(`docs/${name}`))
    .map(name => `docs/${name}`)
  if (missing.length > 0) {
    throw new Error(`deploy/site/pages.mjs does not name ${missing.join(', ')}`)
  }

  const titles = new Map(documents.map(document => [document, titleOf(document)]))
  const sections = []
  const copied = new Set()
  for (const document of documents) {
    config.addTemplate(`page/${document}`, readFileSync(document, 'utf8'), {
      layout: 'page.11ty.mjs',
      permalink: fileOf(document),
      document,
      title: titles.get(document),
      titles,
    })
  }
  config.amendLibrary('md', md => teach(md, sections, copied))
  // Texts have braces that are no template.
  config.setTemplateFormats(['md', '11ty.mjs'])
  config.addPassthroughCopy({
    'deploy/site/site.css': 'site.css',
    'deploy/site/search.js': 'search.js',
  })
  config.on('eleventy.after', ({ results, directories }) =>
    finish(posix.normalize(directories.output), { results, sections, copied }),
  )
  return {
    markdownTemplateEngine: false,
    dir: { input: 'deploy/site', output: '.cache/site', includes: '_includes' },
  }
}

function titleOf(document) {
  return /^# (.+)$/m.exec(readFileSync(document, 'utf8'))?.[1]?.replaceAll('`', '') ?? document
}

/** Anchors as the host of the repository makes them; links to documents lead to their pages, and
 *  those to other files take the file along. */
function teach(md, sections, copied) {
  md.set({ html: false, linkify: false })
  md.core.ruler.push('site', ({ tokens, env }) => {
    const { document } = env
    const seen = new Map()
    let section = { document, anchor: '', heading: env.title, text: '' }
    sections.push(section)
    for (const [i, token] of tokens.entries()) {
      if (token.type === 'heading_open') {
        const heading = tokens[i + 1].children.map(({ content }) => content).join('')
        const anchor = anchorOf(heading, seen)
        token.attrSet('id', anchor)
        section = { document, anchor, heading, text: '' }
        sections.push(section)
      } else if (token.type === 'inline') {
        section.text += ` ${token.children.map(({ content }) => content).join('')}`
        for (const child of token.children) lead(child, document, copied)
      } else if (token.type === 'fence') section.text += ` ${token.content}`
    }
  })
}

function anchorOf(heading, seen) {
  const anchor = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
  const count = seen.get(anchor) ?? 0
  seen.set(anchor, count + 1)
  return count === 0 ? anchor : `${anchor}-${count}`
}

function lead(token, document, copied) {
  const name = token.type === 'link_open' ? 'href' : token.type === 'image' ? 'src' : undefined
  const link = name === undefined ? null : token.attrGet(name)
  if (link === null || /^(?:[a-z]+:|#)/.test(link)) return
  const [path, anchor] = link.split('#')
  const target = posix.normalize(posix.join(posix.dirname(document), path))
  const from = posix.dirname(document)
  const suffix = anchor === undefined ? '' : `#${anchor}`
  if (documents.includes(target)) {
    token.attrSet(name, `${posix.relative(from, fileOf(target))}${suffix}`)
    return
  }
  if (!existsSync(target) || !statSync(target).isFile()) {
    throw new Error(`${document}: the link ${link} leads to no file`)
  }
  copied.add(target)
}

/** Writes the search index as a script, since a page from a folder may load scripts and nothing
 *  else; and checks each link. */
async function finish(folder, { results, sections, copied }) {
  const output = folder.replace(/\/$/, '')
  const { copyFile, mkdir, writeFile } = await import('node:fs/promises')
  for (const path of copied) {
    await mkdir(`${output}/${posix.dirname(path)}`, { recursive: true })
    await copyFile(path, `${output}/${path}`)
  }
  const index = sections.map(({ document, anchor, heading, text }) => [
    `${fileOf(document)}#${anchor}`,
    titleOf(document),
    heading,
    text.replaceAll(/\s+/g, ' ').trim(),
  ])
  await writeFile(`${output}/search-index.js`, `const sections = ${JSON.stringify(index)}\n`)
  const pages = new Map(
    results.map(({ outputPath, content }) => [
      posix.relative(output, posix.normalize(outputPath)),
      content,
    ]),
  )
  const broken = []
  for (const [file, content] of pages) {
    for (const [, link] of content.matchAll(/(?:href|src)="([^"]+)"/g)) {
      if (/^[a-z]+:/.test(link)) continue
      const [path, anchor] = link.replaceAll('&amp;', '&').split('#')
      const target = path === '' ? file : posix.join(posix.dirname(file), path)
      const page = pages.get(target)
      const isThere = page === undefined ? existsSync(`${output}/${target}`) : true
      const hasAnchor = !anchor || page?.includes(`id="${decodeURIComponent(anchor)}"`)
      if (!isThere || !hasAnchor) broken.push(`${file}: ${link}`)
    }
  }
  if (broken.length > 0) throw new Error(`links that lead nowhere:\n${broken.join('\n')}`)
}
