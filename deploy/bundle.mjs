/** The program in few files: `dist/program`, made by esbuild out of the modules in `dist/lib` as the last step of `npm run build`. To find,
 *  read and link 900 modules is a third of what a start takes of the processor. What is loaded late, such as a wing, has files of its own
 *  here, too. */

import { build } from 'esbuild'
import { mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { buildPackages } from './packages.mjs'

const modules = 'dist/lib'
const program = 'dist/program'

/** A table that lies beside a module stays there. */
const tables = {
  name: 'tables',
  setup({ onLoad }) {
    onLoad({ filter: /\/dist\/lib\/.*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const own = 'readDataFile(import.meta.url,'
      if (!text.includes(own)) return undefined
      const module = JSON.stringify(`../lib/${relative(modules, path)}`)
      const contents = text.replaceAll(
        own,
        `readDataFile(new URL(${module}, import.meta.url).href,`,
      )
      return { contents, loader: 'js' }
    })
  },
}

/** Built packages find each other by name, as their sources do by the links of npm. */
const links = 'dist/node_modules/@watchglass'
rmSync(links, { recursive: true, force: true })
mkdirSync(links, { recursive: true })
for (const name of readdirSync(modules)) symlinkSync(`../../lib/${name}`, `${links}/${name}`)

const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))

rmSync(program, { recursive: true, force: true })
await build({
  entryPoints: [`${modules}/cli/main.js`, `${modules}/cli/commands/worker.js`],
  outdir: program,
  // All in one folder, so that the program finds the script of its threads, and the tables.
  entryNames: '[name]',
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  external: Object.keys({ ...dependencies, ...optionalDependencies }),
  // A tenth of the package. Names stay, and lines are short enough for a trace of the stack to name a place.
  minifyWhitespace: true,
  lineLimit: 120,
  sourcemap: true,
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [tables],
})

/** What looks at the version of Node first, which links nothing else. */
await build({
  entryPoints: [`${modules}/cli/cli.js`],
  outdir: program,
  bundle: true,
  platform: 'node',
  target: 'node18',
  format: 'esm',
  external: ['./main.js'],
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
})

/** The scripts of the page, each in one piece: the page is one document, whose policy names the hash of its script. */
const page = `${modules}/cache/http/page`
const { outputFiles } = await build({
  entryPoints: ['figures', 'objects'].map(name => `${page}/browser/${name}.js`),
  outdir: page,
  bundle: true,
  write: false,
  minify: true,
  target: 'es2023',
  format: 'iife',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
})
const [figures, objects] = outputFiles.map(({ text }) => text)
writeFileSync(`${page}/scripts.json`, JSON.stringify({ figures, objects }))

await buildPackages('dist/packages')
