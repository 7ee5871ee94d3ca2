/** One name, several spellings: words in declarations, camelCase on the wire, snake_case in events. */

const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_-]+/)
    .filter(Boolean);

const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** `companyId`, `catalog item`, `service-catalog` → `company_id`, `catalog_item`, `service_catalog`. */
export const snakeCase = (name: string): string => wordsOf(name).join('_');

/** `catalog item` → `CatalogItem`. */
export const pascalCase = (name: string): string => wordsOf(name).map(capitalised).join('');

/** `due_at`, `catalog item` → `Due at`, `Catalog item`. */
export const sentenceCase = (name: string): string => capitalised(wordsOf(name).join(' '));
