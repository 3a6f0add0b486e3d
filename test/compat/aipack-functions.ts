/** Everything that AIPack 0.8.34 offers to scripts as `aip.*`, by module. */
export const aipackFunctions: { readonly [module: string]: string } = {
  agent: 'run extract_options',
  cmd: 'exec',
  code: 'comment_line',
  csv: 'parse_row parse values_to_row value_lists_to_rows',
  editor: 'open_file',
  file: `load save copy move append delete ensure_exists ensure_dir exists info list list_load first stats load_json
    load_toml load_yaml load_ndjson append_json_line append_json_lines load_md_sections load_md_split_first
    load_csv_headers load_csv save_as_csv save_records_as_csv append_csv_rows append_csv_row save_html_to_md
    save_html_to_slim load_html_as_slim load_html_as_md save_docx_to_md load_docx_as_md save_changes line_spans
    csv_row_spans read_span hash_sha256 hash_sha256_b64 hash_sha256_b64u hash_sha256_b58u hash_sha512 hash_sha512_b64
    hash_sha512_b64u hash_sha512_b58u hash_blake3 hash_blake3_b64 hash_blake3_b64u hash_blake3_b58u`,
  flow: 'before_all_response data_response skip redo_run',
  git: 'restore',
  hash: `sha256 sha256_b58 sha256_b64 sha256_b64u sha512 sha512_b58 sha512_b64 sha512_b64u blake3 blake3_b58 blake3_b64
    blake3_b64u`,
  hbs: 'render',
  html: 'slim prune_to_content select to_md',
  json: 'parse parse_ndjson stringify stringify_pretty stringify_to_line',
  lua: 'dump merge merge_deep',
  md: 'extract_blocks extract_meta extract_refs outer_block_content_or_raw',
  path: 'parse resolve join exists is_file is_dir diff parent matches_glob split sort_by_globs',
  pdf: 'page_count split_pages',
  run: 'set_label pin',
  rust: 'prune_to_declarations',
  semver: 'compare parse is_prerelease valid',
  shape: `to_record to_records record_to_values records_to_value_lists columnar_to_records records_to_columnar select_keys
    omit_keys remove_keys extract_keys`,
  tag: 'extract extract_as_map extract_as_multi_map',
  task: 'set_label pin',
  text: `trim trim_start trim_end truncate split_first split_last split_first_line split_last_line remove_first_line
    remove_first_lines remove_last_line remove_last_lines replace_markers ensure ensure_single_trailing_newline
    ensure_single_ending_newline escape_decode escape_decode_if_needed extract_line_blocks format_size`,
  time: `now_iso_utc now_iso_local now_iso_utc_micro now_iso_local_micro now_utc_micro today_utc today_local today_iso_utc
    today_iso_local weekday_utc weekday_local local_tz_id`,
  toml: 'parse stringify',
  udiffx: 'apply_file_changes load_files_context file_changes_instruction',
  uuid: `new new_v4 new_v7 new_v4_b64 new_v4_b64u new_v4_b58 new_v7_b64 new_v7_b64u new_v7_b58 to_time_epoch_ms`,
  web: 'get post parse_url resolve_href UA_AIPACK UA_BROWSER',
  yaml: 'parse stringify stringify_multi_docs',
  zip: 'create extract list read_text',
}
