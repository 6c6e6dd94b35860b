# Writes OUTPUT, a header with a number that is another one as soon as a file of FOLDER is: ranks through whose shared
# memory messages go must agree on what lies there. Not the time of the build: two builds may have one, and one may be
# built twice.
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*.cpp ${FOLDER}/*.hpp ${FOLDER}/*.ini ${FOLDER}/*.py)
list(FILTER files EXCLUDE REGEX "_test\\.cpp$")
list(SORT files)
set(all "")
foreach(file ${files})
  file(SHA256 ${FOLDER}/${file} hash)
  string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUTPUT} "inline constexpr unsigned long long kSourceId = 0x${hash};\n")
