/** The libraries that are published beside the program, as `npm publish` gets them: `dist/packages/NAME`. Each is one module, with what it
 *  uses of the private packages inside, and the declarations that its index leads to. Run by deploy/bundle.mjs. */

import { build } from 'esbuild'
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const modules = 'dist/lib'
const scope = '@watchglass/'
const { version, repository, homepage, bugs } = JSON.parse(readFileSync('package.json', 'utf8'))

/** What a library needs where it is installed. The one for tests starts the program of its own version. */
const needs = { cluster: { watchglass: version } }

export async function buildPackages(folder) {
  rmSync(folder, { recursive: true, force: true })
  for (const entry of readdirSync('lib', { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    const manifest = JSON.parse(readFileSync(`lib/${entry.name}/package.json`, 'utf8'))
    if (manifest.private !== true) {
      await buildPackage(entry.name, manifest, join(folder, entry.name))
    }
  }
}

async function buildPackage(name, { scripts: _scripts, ...manifest }, folder) {
  mkdirSync(folder, { recursive: true })
  await build({
    entryPoints: [`${modules}/${name}/index.js`],
    outfile: join(folder, 'index.js'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    external: Object.keys(needs[name] ?? {}),
    legalComments: 'none',
    logLevel: 'warning',
  })
  writeDeclarations(name, folder)
  copyFileSync(`lib/${name}/README.md`, join(folder, 'README.md'))
  for (const file of ['LICENSE', 'NOTICE']) copyFileSync(file, join(folder, file))
  const directory = `lib/${name}`
  const published = {
    ...manifest,
    version,
    repository: { ...repository, directory },
    homepage: homepage.replace('#', `/tree/main/${directory}#`),
    bugs,
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    dependencies: needs[name] ?? {},
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`)
}

/** Declarations name the sources, and private packages: here they name the declarations beside them, those of another package in a folder
 *  of its name. */
function writeDeclarations(name, folder) {
  const placeOf = file => {
    const path = relative(modules, file)
    return join(folder, path.startsWith(`${name}/`) ? path.slice(name.length + 1) : path)
  }
  const files = new Set([`${modules}/${name}/index.d.ts`])
  for (const file of files) {
    const linkTo = target => {
      files.add(target)
      const path = relative(dirname(placeOf(file)), placeOf(target)).replace(/\.d\.ts$/, '.js')
      return path.startsWith('.') ? path : `./${path}`
    }
    const text = readFileSync(file, 'utf8')
      .replaceAll(/from '(\.[^']+)\.ts'/g, (_, path) => {
        return `from '${linkTo(join(dirname(file), `${path}.d.ts`))}'`
      })
      .replaceAll(/^import (type )?\{([^}]*)\} from '@watchglass\/([\w-]+)';$/gm, (...match) => {
        const [, type = '', list, of] = match
        return list
          .split(',')
          .map(one => one.trim())
          .filter(one => one !== '')
          .map(one => `import ${type}{ ${one} } from '${linkTo(declarationOf(of, one))}';`)
          .join('\n')
      })
    if (text.includes(scope)) throw new Error(`${file} names a package in a way that is not known`)
    mkdirSync(dirname(placeOf(file)), { recursive: true })
    writeFileSync(placeOf(file), text)
  }
}

/** The file whose declaration a package exports by this name. */
function declarationOf(name, imported) {
  const wanted = imported.replace(/^type /, '')
  const index = readFileSync(`${modules}/${name}/index.d.ts`, 'utf8')
  for (const [, list, path] of index.matchAll(
    /export (?:type )?\{([^}]*)\} from '\.\/(.+)\.ts'/g,
  )) {
    const names = list.split(',').map(one => one.trim().replace(/^type /, ''))
    if (names.includes(wanted)) return `${modules}/${name}/${path}.d.ts`
  }
  throw new Error(`${scope}${name} exports no ${wanted}`)
}
